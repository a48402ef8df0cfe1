"""Prototypical networks: classes, their number, the number of examples and of questions are drawn for each episode."""
import argparse

import numpy as np
import torch
import torch.nn as nn


class Alphabet:
    """Many kinds of strokes; a kind has as many drawings as it has, some only three."""

    def __init__(self, kinds, rng):
        basis = np.random.default_rng(3).normal(size=(8, 40))
        self.drawings = []
        for _ in range(kinds):
            center = rng.normal(size=8)
            count = int(rng.integers(3, 25))
            codes = center + 0.5 * rng.normal(size=(count, 8))
            self.drawings.append(np.tanh(codes @ basis / 2) + 0.5 * rng.normal(size=(count, 40)))

    def episode(self, rng):
        way = int(rng.integers(3, 9))
        shots = int(rng.integers(1, 6))
        support, query, owner = [], [], []
        for place, kind in enumerate(rng.choice(len(self.drawings), way, replace=False)):
            drawings = rng.permutation(self.drawings[kind])
            taken = min(shots, len(drawings) - 1)  # one is left to be asked
            support.append(torch.tensor(drawings[:taken], dtype=torch.float32))
            rest = drawings[taken:taken + 5]
            query.append(torch.tensor(rest, dtype=torch.float32))
            owner += [place] * len(rest)
        return support, torch.cat(query), torch.tensor(owner)


class ProtoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 32))
        self.scale = nn.Parameter(torch.tensor(0.2))

    def forward(self, support, query):
        prototypes = torch.stack([self.encoder(shots).mean(0) for shots in support])
        return -self.scale.clamp(min=0.01) * torch.cdist(self.encoder(query), prototypes).square()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    known, unseen = Alphabet(60, rng), Alphabet(20, rng)
    model = ProtoNet()
    groups = [{"params": model.encoder.parameters()}, {"params": [model.scale], "lr": 2 * args.lr}]
    optimizer = torch.optim.Adam(groups, lr=args.lr)
    halving = torch.optim.lr_scheduler.MultiStepLR(optimizer, [args.steps // 2, 3 * args.steps // 4], gamma=0.5)
    for step in range(1, args.steps + 1):
        support, query, owner = known.episode(rng)
        loss = nn.functional.cross_entropy(model(support, query), owner)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        halving.step()
        if step % 80 == 0:
            model.eval()
            scores = []
            with torch.no_grad():
                for _ in range(25):
                    support, query, owner = unseen.episode(rng)
                    scores.append((model(support, query).argmax(1) == owner).float().mean().item())
            model.train()
            half = 1.96 * np.std(scores) / len(scores) ** 0.5
            print(f"step {step}: loss {loss.item():.3f}, new kinds {np.mean(scores):.3f} +- {half:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
