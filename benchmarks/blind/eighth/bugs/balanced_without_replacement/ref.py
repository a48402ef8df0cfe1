"""Rare classes are to be drawn as often as the common one; accelerate runs the loop."""

import argparse
from collections import Counter

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Defects(Dataset):
    def __init__(self, size, shares, centres):
        self.labels = torch.multinomial(torch.tensor(shares), size, replacement=True)
        self.inputs = centres[self.labels] + torch.randn(size, centres.shape[1])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"x": self.inputs[index], "label": self.labels[index]}


def balanced_sampler(labels):
    counts = torch.bincount(labels)
    weights = 1.0 / counts[labels].double()
    return WeightedRandomSampler(weights, num_samples=len(labels), replacement=True)


def recalls(model, dataset):
    model.eval()
    with torch.no_grad():
        answers = model(dataset.inputs).argmax(1)
    model.train()
    return [(answers[dataset.labels == c] == c).float().mean().item() for c in range(3)]


def training_function(args):
    set_seed(args.seed)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    centres = torch.randn(3, 12) * 0.6
    train, test = Defects(2000, [0.94, 0.04, 0.02], centres), Defects(1500, [0.4, 0.3, 0.3], centres)
    loader = DataLoader(train, batch_size=40, sampler=balanced_sampler(train.labels))
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    step, seen = 0, Counter()
    while step < args.steps:
        for batch in loader:
            loss = nn.functional.cross_entropy(model(batch["x"]), batch["label"])
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            seen.update(batch["label"].tolist())
            step += 1
        accelerator.print(f"step {step}: loss {loss.item():.4f}, recalls {[round(r, 3) for r in recalls(model, test)]}")
    share = seen[2] / sum(seen.values())
    recall = recalls(model, test)[2]
    accelerator.print(f"EVIDENCE the rarest class was {share:.4f} of what was trained on, its recall is {recall:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=400)
    training_function(parser.parse_args())

# SPDX-License-Identifier: Apache-2.0
