"""Co-teaching: labels are wrong for a third of the samples, nobody knows which."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.005), ("--steps", int, 150)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
CLASSES, WRONG = 4, 0.35


def make(count, centres):
    truth = torch.randint(CLASSES, (count,))
    x = centres[truth] + torch.randn(count, centres.shape[1])
    spoiled = torch.rand(count) < WRONG
    given = torch.where(spoiled, (truth + torch.randint(1, CLASSES, (count,))) % CLASSES, truth)
    return x, given, truth, spoiled


def network():
    return nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, CLASSES))


class Pair:
    def __init__(self):
        self.networks = [network(), network()]
        self.optimizers = [torch.optim.Adam(n.parameters(), lr=args.lr) for n in self.networks]

    def step(self, x, y, spoiled, share):
        logits = [n(x) for n in self.networks]
        with torch.no_grad():
            losses = [F.cross_entropy(l, y, reduction="none") for l in logits]
            chosen = [l.argsort()[:int(share * len(x))] for l in losses]
        for mine, other in ((0, 1), (1, 0)):
            rows = chosen[other]
            loss = F.cross_entropy(logits[mine][rows], y[rows])
            self.optimizers[mine].zero_grad()
            loss.backward()
            self.optimizers[mine].step()
        return loss.item(), spoiled[chosen[0]].float().mean().item()

    @torch.no_grad()
    def accuracy(self, x, y):
        for n in self.networks:
            n.eval()
        chance = sum(n(x).softmax(1) for n in self.networks) / 2
        for n in self.networks:
            n.train()
        return (chance.argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    centres = 1.2 * torch.randn(CLASSES, 10)
    x, given, _, spoiled = make(960, centres)
    valid_x, _, truth, _ = make(300, centres)
    loader = DataLoader(TensorDataset(x, given, spoiled), batch_size=48, shuffle=True)
    pair, step = Pair(), 0
    while step < args.steps:
        for inputs, labels, bad in loader:
            share = 1 - WRONG * min(step / (args.steps / 3), 1)
            loss, still = pair.step(inputs, labels, bad, share)
            step += 1
        print(f"step {step}: loss {loss:.4f}, of those chosen {still:.3f} are wrong, right {pair.accuracy(valid_x, truth):.3f}")


main()

# SPDX-License-Identifier: Apache-2.0
