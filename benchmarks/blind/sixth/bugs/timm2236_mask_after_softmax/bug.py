"""Attention pooling over sets of vectors of different size; the mean label of a set is to be found."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()


class AttentionPooling(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(width, 16), nn.Tanh(), nn.Linear(16, 1))
        self.spread = None

    def forward(self, hidden, padding):
        scores = self.score(hidden).squeeze(-1)
        weights = scores.softmax(dim=1)
        weights = weights.masked_fill(padding, 0.0)
        self.spread = weights.sum(1).detach()
        return torch.einsum("bl,blw->bw", weights, hidden)


class SetRegressor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Linear(width, width))
        self.pool = AttentionPooling(width)
        self.head = nn.Linear(width, 1)

    def forward(self, x, padding):
        return self.head(self.pool(self.encode(x), padding)).squeeze(1)


def sets(count, truth):
    rows = []
    for _ in range(count):
        x = torch.randn(int(torch.randint(2, 15, ())), 5) + torch.randn(5)
        rows.append((x, (x @ truth).mean()))
    return rows


def collate(rows):
    x = pad_sequence([r[0] for r in rows], batch_first=True)
    length = torch.tensor([len(r[0]) for r in rows])
    return x, torch.arange(x.shape[1])[None] >= length[:, None], torch.stack([r[1] for r in rows])


def evaluate(model, loader):
    model.eval()
    total = count = 0
    with torch.no_grad():
        for x, padding, y in loader:
            total += (model(x, padding) - y).square().sum().item()
            count += len(y)
    model.train()
    return total / count


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    truth = torch.randn(5)
    loader = DataLoader(sets(640, truth), batch_size=32, shuffle=True, collate_fn=collate)
    valid = DataLoader(sets(160, truth), batch_size=32, collate_fn=collate)
    model = SetRegressor()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(max(1, args.steps // len(loader))):
        for x, padding, y in loader:
            loss = nn.functional.mse_loss(model(x, padding), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}, validation {evaluate(model, valid):.4f}")
    print(f"EVIDENCE weights of a set sum to {model.pool.spread.min():.3f} at least; error {evaluate(model, valid):.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
