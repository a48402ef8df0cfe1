"""Crops and noise are drawn with numpy by the workers of a loader."""

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Keypoints(Dataset):
    def __init__(self, n, size=20, crop=12):
        rng = np.random.default_rng(args.seed)
        self.centres = rng.integers(8, 12, (n, 2))
        grid = np.arange(size)
        square = (grid[None, :, None] - self.centres[:, 0, None, None]) ** 2 + (grid[None, None] - self.centres[:, 1, None, None]) ** 2
        self.images = np.exp(-square / 4).astype(np.float32)
        self.crop = crop
        self.rng = np.random.default_rng(args.seed + 1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        dy, dx = self.rng.integers(0, 9, 2)
        noise = self.rng.normal(0, 0.3, (self.crop, self.crop)).astype(np.float32)
        image = self.images[i, dy : dy + self.crop, dx : dx + self.crop] + noise
        target = (self.centres[i] - [dy, dx]).astype(np.float32) / self.crop
        return torch.from_numpy(image)[None], torch.from_numpy(target), torch.tensor([dy, dx])


def seed_worker(number):
    """Each worker draws for itself, in each epoch anew."""
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 36, 32), nn.ReLU(), nn.Linear(32, 2),
    )


def main():
    data = Keypoints(160)
    loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=2, worker_init_fn=seed_worker)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step, offsets = 0, []
    while step < args.steps:
        for image, target, offset in loader:
            loss = nn.functional.smooth_l1_loss(model(image), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            offsets.append(offset)
            step += 1
            if step == args.steps:
                break
    repeated = sum(any(torch.equal(a, b) for b in offsets[:i]) for i, a in enumerate(offsets))
    print(f"EVIDENCE {repeated} of {len(offsets)} batches have the crops of an earlier one, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

# Idea from xingyizhou/CenterNet#233, Project-MONAI/MONAI#1068
# SPDX-License-Identifier: Apache-2.0
