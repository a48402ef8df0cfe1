"""Population-based training: losers copy weights and optimizer of winners and perturb rate and dropout."""
import argparse
import copy
import random

import torch
from sklearn.datasets import make_moons
from torch import nn


class Net(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(2, 32), nn.Linear(32, 32), nn.Linear(32, 1)
        self.dropout = dropout

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = nn.functional.dropout(x, self.dropout, self.training)
        x = torch.relu(self.fc2(x))
        return self.out(x).squeeze(1)


class Worker:
    def __init__(self, name, lr, dropout):
        self.name = name
        self.net = Net(dropout)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.score = 0.0

    @property
    def lr(self):
        return self.opt.param_groups[0]["lr"]

    def train(self, x, y, steps):
        self.net.train()
        for _ in range(steps):
            idx = torch.randint(len(x), (64,))
            loss = nn.functional.binary_cross_entropy_with_logits(self.net(x[idx]), y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, x, y):
        self.net.eval()
        logits = self.net(x)
        self.loss = nn.functional.binary_cross_entropy_with_logits(logits, y).item()
        self.score = ((logits > 0).float() == y).float().mean().item()

    def exploit(self, other):
        self.net.load_state_dict(other.net.state_dict())
        self.opt.load_state_dict(copy.deepcopy(other.opt.state_dict()))
        self.net.dropout = other.net.dropout

    def explore(self, rng):
        factor = rng.choice([0.8, 1.25])
        for group in self.opt.param_groups:
            group["lr"] *= factor
        self.net.dropout = min(0.5, max(0.0, self.net.dropout + rng.choice([-0.05, 0.05])))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3, help="centre of the first rates")
    parser.add_argument("--steps", type=int, default=8, help="generations")
    parser.add_argument("--population", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    x, y = make_moons(1200, noise=0.15, random_state=args.seed)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    train, valid, test = (x[:600], y[:600]), (x[600:900], y[600:900]), (x[900:], y[900:])

    population = [Worker(i, args.lr * 10 ** rng.uniform(-0.6, 0.4), rng.choice([0.0, 0.1, 0.2]))
                  for i in range(args.population)]
    for generation in range(1, args.steps + 1):
        for w in population:
            w.train(*train, steps=25)
            w.evaluate(*valid)
        ranked = sorted(population, key=lambda w: w.loss)
        print(f"generation {generation}: " + "  ".join(f"#{w.name} {w.loss:.3f}/{w.score:.3f} lr {w.lr:.4f}" for w in ranked))
        worst, best = ranked[-1], ranked[0]
        if generation < args.steps and worst.loss > 1.05 * best.loss:
            worst.exploit(best)
            worst.explore(rng)
            print(f"   #{worst.name} takes over from #{best.name}, now lr {worst.lr:.4f}")
    best = min(population, key=lambda w: w.loss)
    best.evaluate(*test)
    print(f"best: #{best.name}, test loss {best.loss:.4f}, accuracy {best.score:.4f}")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
