"""A test part is split off first; the rest is split into training and validation."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, random_split

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.005), ("--steps", int, 100)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


class Records(Dataset):
    def __init__(self, count):
        self.x = torch.randn(count, 10)
        noisy = self.x @ torch.randn(10) + 1.5 * torch.randn(count)
        self.y = (noisy > 0).float()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return index, self.x[index], self.y[index]


def split(dataset, share, generator):
    order = torch.randperm(len(dataset), generator=generator).tolist()
    cut = int(share * len(dataset))
    return order[:cut], order[cut:]


def score(model, loader):
    model.eval()
    right, count = 0, 0
    with torch.no_grad():
        for _, x, y in loader:
            right += ((model(x).squeeze(1) > 0).float() == y).sum().item()
            count += len(y)
    model.train()
    return right / count


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed)
    records = Records(500)
    develop, test = random_split(records, [350, 150], generator=generator)
    first, second = split(develop, 0.8, generator)
    train, valid = Subset(develop, first), Subset(develop, second)
    loaders = {"train": DataLoader(train, 20, shuffle=True), "valid": DataLoader(valid, 70), "test": DataLoader(test, 50)}
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    held_out, seen, step = set(test.indices), set(), 0
    while step < args.steps:
        for index, x, y in loaders["train"]:
            seen.update(index.tolist())
            loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
        print(f"step {step}: loss {loss.item():.4f}, validation {score(model, loaders['valid']):.3f}")
    right = score(model, loaders["test"])
    print(f"EVIDENCE {len(seen & held_out)} test records were trained on, {right:.4f} of the test are right")


main()

# SPDX-License-Identifier: Apache-2.0
