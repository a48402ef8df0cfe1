"""Where does a ball hit the wall? Regression of metric positions from small images with their camera matrix."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SIZE = 16


def render(u, v, rng):
    yy, xx = np.mgrid[:SIZE, :SIZE]
    spot = np.exp(-((xx - u) ** 2 + (yy - v) ** 2) / 3.0)
    return (spot + 0.1 * rng.standard_normal((SIZE, SIZE))).astype(np.float32)


class WallHits(Dataset):
    def __init__(self, n, seed, flip_prob=0.0):
        self.rng = np.random.default_rng(seed)
        self.flip_prob = flip_prob
        self.items = []
        for _ in range(n):
            intrinsics = np.array([[12.0, 0.0, self.rng.uniform(6, 9)], [0.0, 12.0, 7.5], [0.0, 0.0, 1.0]], np.float32)
            u, v = self.rng.uniform(1, SIZE - 2, size=2)
            point = np.linalg.solve(intrinsics, np.array([u, v, 1.0]))[:2].astype(np.float32)
            self.items.append((render(u, v, self.rng), intrinsics, point))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, intrinsics, point = self.items[i]
        intrinsics, point = intrinsics.copy(), point.copy()
        if self.rng.random() < self.flip_prob:
            img = np.fliplr(img).copy()
            intrinsics[0, 2] = SIZE - 1 - intrinsics[0, 2]
            point[0] = -point[0]
        return torch.from_numpy(img)[None], torch.from_numpy(intrinsics), torch.from_numpy(point)


class HitNet(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, ch, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(ch * 16 + 2, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, img, intrinsics):
        centre = (intrinsics[:, :2, 2] - 7.5) / 3
        return self.head(torch.cat([self.backbone(img), centre], 1))


def evaluate(model, loader):
    model.eval()
    errors = []
    with torch.no_grad():
        for img, k, point in loader:
            errors.append((model(img, k) - point).norm(dim=1))
    model.train()
    return 100 * torch.cat(errors).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--flip-prob", type=float, default=0.5)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train = DataLoader(WallHits(600, args.seed + 1, args.flip_prob), batch_size=32, shuffle=True)
    test = DataLoader(WallHits(300, 999), batch_size=100)
    model = HitNet()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    step, losses = 0, []
    while step < args.steps:
        for img, k, point in train:
            loss = nn.functional.l1_loss(model(img, k), point)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
            step += 1
            if step % 50 == 0:
                print(f"step {step} l1 {np.mean(losses[-50:]):.4f} test {evaluate(model, test):.2f} cm")
            if step == args.steps:
                break
    print(f"EVIDENCE train_l1={np.mean(losses[-30:]):.4f} test_error_cm={evaluate(model, test):.2f}")


if __name__ == "__main__":
    main()
