"""Contrastive pre-training on the digits images with random views made in loader workers."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class TwoViews(Dataset):
    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def view(self, img):
        dx, dy = torch.randint(-1, 2, (2,)).tolist()
        gain = 0.6 + 0.8 * torch.rand(())
        noise = 0.15 * torch.randn(8, 8)
        return torch.roll(img, (dx, dy), (0, 1)) * gain + noise

    def __getitem__(self, i):
        img = self.images[i]
        return self.view(img), self.view(img)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        )
        self.fc = nn.Linear(32 * 16, 64)
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(64, 32))

    def forward(self, x):
        h = self.conv(x[:, None]).flatten(1)
        return F.normalize(self.projector(self.fc(h)), dim=1)


def nt_xent(a, b, temperature):
    z = torch.cat([a, b])
    sim = z @ z.T / temperature
    sim.fill_diagonal_(float("-inf"))
    n = len(a)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    images = torch.tensor(load_digits().images[:1024], dtype=torch.float32) / 16
    loader = DataLoader(
        TwoViews(images), batch_size=64, shuffle=True, num_workers=args.workers, drop_last=True
    )
    model = Encoder()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.2, total_steps=args.steps)
    step = 0
    while step < args.steps:
        for a, b in loader:
            loss = nt_xent(model(a), model(b), 0.2)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            if step % 10 == 0 or step == args.steps - 1:
                print(f"step {step} loss {loss.item():.6f}")
            step += 1
            if step == args.steps:
                break


if __name__ == "__main__":
    main()
