"""Crops of long recordings are drawn from a seed, the epoch and the index, in two workers."""

import argparse
import hashlib

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
LENGTH, CROP, CLASSES = 200, 40, 4


class Crops(Dataset):
    """The same epoch gives the same crops, so that a run can be repeated with any number of workers."""

    def __init__(self, recordings, labels, seed):
        self.recordings, self.labels, self.seed = recordings, labels, seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(1_000_003 * self.seed + 10_007 * self.epoch + index)
        start = int(torch.randint(LENGTH - CROP, (), generator=generator))
        return self.recordings[index, start:start + CROP], self.labels[index]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Sequential(nn.Conv1d(1, 16, 9), nn.ReLU(), nn.Conv1d(16, 16, 9), nn.ReLU())
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.head(self.convolution(x[:, None]).mean(-1))


def recordings(count):
    labels = torch.randint(CLASSES, (count,))
    time = torch.arange(LENGTH) / 3.0
    phase = 6.28 * torch.rand(count, 1)
    return torch.sin(time * (1 + 0.3 * labels[:, None]) + phase) + 0.8 * torch.randn(count, LENGTH), labels


def make_loader(dataset):
    return DataLoader(dataset, batch_size=16, num_workers=2, persistent_workers=True)


if __name__ == "__main__":
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    dataset = Crops(*recordings(160), args.seed)
    loader = make_loader(dataset)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    seen = set()
    for epoch in range(max(1, args.steps // len(loader))):
        dataset.set_epoch(epoch)
        for x, y in loader:
            seen.add(hashlib.sha1(x.numpy().tobytes()).hexdigest())
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}")
    print(f"EVIDENCE {len(seen)} different batches in {(epoch + 1) * len(loader)} steps, loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
