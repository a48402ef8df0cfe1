"""Rare classes are drawn with replacement, workers stay alive, pairs are mixed in half of the batches; evaluation has none of it."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()


class Spectra(Dataset):
    def __init__(self, n, train):
        self.label = torch.multinomial(torch.tensor([0.7, 0.2, 0.1]), n, replacement=True)
        t = torch.arange(40.0)
        self.x = ((t / (2.0 + self.label[:, None])).sin() + 0.5 * torch.randn(n, 40))[:, None]
        self.train = train

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        if self.train:
            x = x.roll(int(torch.randint(-2, 3, ())), -1) * (0.8 + 0.4 * torch.rand(()))
            at = int(torch.randint(0, 32, ()))
            x = torch.cat([x[:, :at], torch.zeros(1, 8), x[:, at + 8 :]], 1)
        return x, self.label[i]


def mixup(x, y, classes=3):
    target = nn.functional.one_hot(y, classes).float()
    if torch.rand(()) < 0.5:
        return x, target
    part = torch.distributions.Beta(0.4, 0.4).sample()
    other = torch.randperm(len(x))
    return part * x + (1 - part) * x[other], part * target + (1 - part) * target[other]


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train, val = Spectra(500, True), Spectra(200, False)
    counts = torch.bincount(train.label, minlength=3).float()
    sampler = WeightedRandomSampler((1 / counts)[train.label], len(train), replacement=True)
    loader = DataLoader(train, 32, sampler=sampler, num_workers=2, persistent_workers=True, drop_last=True)
    model = nn.Sequential(nn.Conv1d(1, 16, 7, padding=3), nn.GroupNorm(4, 16), nn.GELU(), nn.MaxPool1d(4),
                          nn.Conv1d(16, 16, 5, padding=2), nn.GELU(), nn.AdaptiveAvgPool1d(2), nn.Flatten(), nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        model.train()
        for x, y in loader:
            x, target = mixup(x, y)
            loss = nn.functional.cross_entropy(model(x), target, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        model.eval()
        with torch.no_grad():
            found = torch.cat([model(x).argmax(1) for x, _ in DataLoader(val, 64)])
        recall = [float((found[val.label == c] == c).float().mean()) for c in range(3)]
        print(f"step {step}: loss {loss.item():.3f}, recall", [round(r, 2) for r in recall])


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
