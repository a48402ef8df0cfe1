"""A siamese network: pairs of signals of one speaker shall be near each other, those of two speakers far apart."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()
SPEAKERS = 12


class Pairs(Dataset):
    """Half of the pairs are of one speaker."""

    def __init__(self, voices, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.first = torch.randint(SPEAKERS, (count,), generator=generator)
        other = torch.randint(SPEAKERS, (count,), generator=generator)
        keep = torch.rand(count, generator=generator) < 0.5
        self.second = torch.where(keep, self.first, other)
        self.left = voices[self.first] + 0.5 * torch.randn(count, voices.shape[1], generator=generator)
        self.right = voices[self.second] + 0.5 * torch.randn(count, voices.shape[1], generator=generator)

    def __len__(self):
        return len(self.first)

    def __getitem__(self, index):
        same = self.first[index] == self.second[index]
        target = same.float()
        return self.left[index], self.right[index], target


def embedder():
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))


@torch.no_grad()
def similarities(model, loader):
    together, apart = [], []
    for left, right, target in loader:
        cosine = nn.functional.cosine_similarity(model(left), model(right))
        together += cosine[target > 0].tolist()
        apart += cosine[target <= 0].tolist()
    return sum(together) / len(together), sum(apart) / len(apart)


def train():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    voices = torch.randn(SPEAKERS, 20).abs()
    loader = DataLoader(Pairs(voices, 960, args.seed + 1), batch_size=32, shuffle=True)
    valid = DataLoader(Pairs(voices, 320, args.seed + 2), batch_size=64)
    model, criterion = embedder(), nn.CosineEmbeddingLoss(margin=0.2)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for left, right, target in loader:
            loss = criterion(model(left), model(right), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step >= args.steps:
                break
        print(f"step {step}: loss {loss.item():.4f}")
    return similarities(model, valid)


together, apart = train()
print(f"EVIDENCE the cosine of pairs of one speaker is {together:.3f}, of two speakers {apart:.3f}")

# SPDX-License-Identifier: Apache-2.0
