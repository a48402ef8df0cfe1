"""Detection of rare events; the score that chooses the kept epoch is F1 over the validation part."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()


def f1(hits, misses, alarms):
    total = 2 * hits + misses + alarms
    return 2 * hits / total if total else 0.0


class Score:
    def __init__(self):
        self.counts = torch.zeros(3)
        self.values = []

    def update(self, guess, truth):
        now = torch.stack([(guess & truth).sum(), (~guess & truth).sum(), (guess & ~truth).sum()]).float()
        self.counts += now
        self.values.append(f1(*now.tolist()))

    def compute(self):
        return f1(*self.counts.tolist())


def events(count, truth):
    x = torch.randn(count, 12)
    return x, (x @ truth + 0.3 * torch.randn(count) > 1.6 * truth.norm()).float()


def validate(model, loader):
    model.eval()
    score = Score()
    with torch.no_grad():
        for x, y in loader:
            score.update(model(x).squeeze(1) > 0, y > 0.5)
    model.train()
    return score.compute()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    truth = torch.randn(12)
    train = DataLoader(TensorDataset(*events(960, truth)), batch_size=32, shuffle=True)
    valid = DataLoader(TensorDataset(*events(640, truth)), batch_size=16)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(4.0))
    best, kept = 0.0, None
    for epoch in range(args.steps // len(train)):
        for x, y in train:
            loss = criterion(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        score = validate(model, valid)
        if score > best:
            best, kept = score, epoch
        print(f"epoch {epoch}: loss {loss.item():.4f}, F1 {score:.4f}")
    print(f"EVIDENCE best F1 {best:.4f}, kept from epoch {kept}")


main()

# SPDX-License-Identifier: Apache-2.0
