"""Digits are turned a little for augmentation, at most twenty degrees to each side."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset


class RandomRotation:
    def __init__(self, degrees):
        self.degrees = degrees

    def __call__(self, image):
        angle = torch.empty(()).uniform_(-self.degrees, self.degrees)
        angle = torch.deg2rad(angle)
        cos, sin = angle.cos(), angle.sin()
        zero = torch.zeros(())
        theta = torch.stack([torch.stack([cos, -sin, zero]), torch.stack([sin, cos, zero])])
        grid = F.affine_grid(theta[None], [1, 1, 8, 8], align_corners=False)
        return F.grid_sample(image[None], grid, align_corners=False)[0]


class Digits(Dataset):
    def __init__(self, images, labels, transform=None):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(16), nn.BatchNorm2d(16)
        self.out = nn.Linear(16 * 16, 10)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.out(x.flatten(1))


def test(model, loader):
    model.eval()
    loss, right = 0.0, 0
    with torch.no_grad():
        for images, labels in loader:
            output = model(images)
            loss += F.cross_entropy(output, labels, reduction="sum").item()
            right += (output.argmax(1) == labels).sum().item()
    model.train()
    return loss / len(loader.dataset), right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=160)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    data = load_digits()
    images, labels = torch.tensor(data.images / 16, dtype=torch.float32)[:, None], torch.tensor(data.target)
    order = torch.randperm(len(labels))
    train, rest = order[:600], order[600:]
    loader = DataLoader(Digits(images[train], labels[train], RandomRotation(20)), batch_size=32, shuffle=True, drop_last=True)
    test_loader = DataLoader(Digits(images[rest], labels[rest]), batch_size=200)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 40 == 0:
                print(f"step {step}: loss {loss.item():.4f}")
            if step == args.steps:
                break
    loss, accuracy = test(model, test_loader)
    print(f"EVIDENCE test loss {loss:.4f}, accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
