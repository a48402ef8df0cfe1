"""Formulas as trees: a cell is applied from the leaves up, as often as a tree needs."""
import argparse
import random
import time
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    seed: int = 0
    lr: float = 4e-3
    steps: int = 90
    batch: int = 16
    width: int = 32
    deepest: int = 4


OPERATORS = {"and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b, "not": lambda a: not a}


def grow(rng, depth):
    """A tree is True, False or a tuple of an operator and its trees."""
    if depth == 0 or rng.random() < 0.2:
        return rng.random() < 0.5
    name = rng.choices(list(OPERATORS), [4, 4, 1, 3])[0]
    return (name, *(grow(rng, depth - 1) for _ in range(1 if name == "not" else 2)))


def value(tree):
    return OPERATORS[tree[0]](*map(value, tree[1:])) if isinstance(tree, tuple) else tree


def size(tree):
    return 1 + sum(map(size, tree[1:])) if isinstance(tree, tuple) else 1


class TreeCell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.leaf = nn.Embedding(2, width)
        self.unary = nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.binary = nn.ModuleDict({name: nn.Linear(2 * width, 2 * width) for name in ("and", "or", "xor")})
        self.head = nn.Linear(width, 1)

    def embed(self, tree):
        if not isinstance(tree, tuple):
            return self.leaf.weight[int(tree)]
        name, *parts = tree
        parts = [self.embed(part) for part in parts]
        if name == "not":
            return self.unary(parts[0])
        gate, new = self.binary[name](torch.cat(parts)).chunk(2)
        gate = gate.sigmoid()
        return gate * new.tanh() + (1 - gate) * 0.5 * (parts[0] + parts[1])

    def forward(self, trees):
        return self.head(torch.stack([self.embed(tree) for tree in trees])).squeeze(1)


def main(config):
    torch.manual_seed(config.seed)
    torch.set_num_threads(1)
    rng = random.Random(config.seed)
    model = TreeCell(config.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    valid = [grow(rng, config.deepest + 1) for _ in range(120)]  # deeper ones than are learned from
    truth = torch.tensor([value(tree) for tree in valid])
    seen, started = 0, time.time()
    for step in range(1, config.steps + 1):
        deepest = min(config.deepest, 1 + step // 15)
        trees = [grow(rng, rng.randint(1, deepest)) for _ in range(config.batch)]
        labels = torch.tensor([float(value(tree)) for tree in trees])
        loss = nn.functional.binary_cross_entropy_with_logits(model(trees), labels)
        optimizer.zero_grad(set_to_none=True)  # an operator that no tree has gets no gradient
        loss.backward()
        optimizer.step()
        seen += sum(map(size, trees))
        if step % 30 == 0:
            model.eval()
            with torch.inference_mode():
                right = ((model(valid) > 0) == truth).float().mean().item()
            model.train()
            rate = seen / (time.time() - started)
            print(f"step {step}: loss {loss.item():.3f}, right {right:.3f}, {rate:.0f} nodes a second")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=Config.seed)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=Config.steps)
    main(Config(**vars(parser.parse_args())))

# SPDX-License-Identifier: Apache-2.0
