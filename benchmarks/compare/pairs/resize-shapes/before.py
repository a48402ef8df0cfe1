"""Classification of drawn shapes; large images are resized to the model size in loader workers."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def draw(kind, size, gen):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx, cy = (torch.rand(2, generator=gen) * 0.4 + 0.3) * size
    r = (torch.rand((), generator=gen) * 0.15 + 0.12) * size
    dx, dy = xx - cx, yy - cy
    if kind == 0:
        img = (dx**2 + dy**2 < r**2)
    elif kind == 1:
        img = (dx.abs() < r) & (dy.abs() < r)
    elif kind == 2:
        img = (dx.abs() + dy.abs() < r)
    else:
        img = ((dx**2 + dy**2 < r**2) & (dx**2 + dy**2 > (0.6 * r) ** 2))
    return img.float() + 0.5 * torch.randn(size, size, generator=gen)


class Resize:
    def __init__(self, size):
        self.size = size

    def __call__(self, img):
        return F.interpolate(img[None], size=(self.size, self.size), mode="bilinear", antialias=False)[0]


class RandomFlip:
    def __call__(self, img):
        return img.flip(-1) if torch.rand(()) < 0.5 else img


class Shapes(Dataset):
    def __init__(self, n, seed, transform):
        gen = torch.Generator().manual_seed(seed + 11)
        self.labels = torch.randint(0, 4, (n,), generator=gen)
        self.images = torch.stack([draw(int(k), 64, gen) for k in self.labels])[:, None]
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.images[i]
        for t in self.transform:
            img = t(img)
        return img, self.labels[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.classifier = nn.Linear(96, 4)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=90)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    dataset = Shapes(768, args.seed, [Resize(16), RandomFlip()])
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=2, drop_last=True)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    step = 0
    while step < args.steps:
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 15 == 0 or step == args.steps - 1:
                print(f"step {step} loss {loss.item():.6f}")
            step += 1
            if step >= args.steps:
                break


if __name__ == "__main__":
    main()
