"""Gesture recordings are read from text files into two datasets, one for training and one for validation."""
import argparse
import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES, LENGTH = 4, 24


def write_recordings(folder, number, rng, names):
    """One file per recording: its first line is the class, then one value per line."""
    os.makedirs(folder)
    for i in range(number):
        label = rng.integers(CLASSES)
        t = np.arange(LENGTH)
        wave = np.sin(t * (0.3 + 0.06 * label) + rng.uniform(0, 6.28)) + 0.7 * rng.normal(size=LENGTH)
        with open(os.path.join(folder, f"{names}_{i:03d}.txt"), "w") as file:
            file.write(f"{label}\n" + "\n".join(f"{v:.4f}" for v in wave))


class Recordings(Dataset):
    def __init__(self, folder, scale=1.0, samples=None):
        self.samples = [] if samples is None else samples
        self.scale = scale
        for name in sorted(os.listdir(folder)):
            self.samples.append(self.read(os.path.join(folder, name)))

    @staticmethod
    def read(path):
        with open(path) as file:
            lines = file.read().split()
        return torch.tensor([float(v) for v in lines[1:]]), int(lines[0])

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        wave, label = self.samples[index]
        return wave * self.scale, label


def evaluate(model, loader):
    model.eval()
    right = count = 0
    with torch.no_grad():
        for wave, label in loader:
            right += (model(wave).argmax(1) == label).sum().item()
            count += len(label)
    return right / count, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    with tempfile.TemporaryDirectory() as root:
        write_recordings(os.path.join(root, "train"), 240, rng, "anna")
        write_recordings(os.path.join(root, "valid"), 160, rng, "boris")
        train = Recordings(os.path.join(root, "train"))
        valid = Recordings(os.path.join(root, "valid"))
    train_loader = DataLoader(train, batch_size=32, shuffle=True)
    valid_loader = DataLoader(valid, batch_size=64)
    model = nn.Sequential(nn.Linear(LENGTH, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = epoch = 0
    while step < args.steps:
        model.train()
        for wave, label in train_loader:
            loss = nn.functional.cross_entropy(model(wave), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        epoch += 1
        if epoch % 10 == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}, valid {evaluate(model, valid_loader)[0]:.4f}")
    right, count = evaluate(model, valid_loader)
    print(f"EVIDENCE validation accuracy {right:.4f} on {count} recordings, {len(train)} in training")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
