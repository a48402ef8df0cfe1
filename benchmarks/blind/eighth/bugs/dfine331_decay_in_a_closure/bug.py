"""Digits in two stages: noisy pictures first, then clean ones with a quicker average of the weights."""
import argparse
import copy
import math

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ModelEMA:
    def __init__(self, model, decay=0.99, warmups=20):
        self.module = copy.deepcopy(model).eval()
        self.decay, self.warmups, self.updates = decay, warmups, 0
        self.decay_fn = lambda x: decay * (1 - math.exp(-x / warmups))
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = self.decay_fn(self.updates)
        for mine, theirs in zip(self.module.parameters(), model.parameters()):
            mine.mul_(d).add_(theirs.detach(), alpha=1 - d)
        return d


class Trainer:
    def __init__(self, args):
        self.args = args
        x, y = load_digits(return_X_y=True)
        x, y = torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y)
        order = torch.randperm(len(x))
        self.valid = x[order[1400:]], y[order[1400:]]
        self.loader = DataLoader(TensorDataset(x[order[:1400]], y[order[:1400]]), batch_size=50, shuffle=True)
        self.model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
        self.ema = ModelEMA(self.model, decay=0.995)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.step, self.last_decay = 0, 0.0

    def stage(self, until, noise):
        while self.step < until:
            for x, y in self.loader:
                loss = nn.functional.cross_entropy(self.model(x + noise * torch.randn_like(x)), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.last_decay = self.ema.update(self.model)
                self.step += 1
                if self.step == until:
                    break
        print(f"step {self.step}: loss {loss.item():.4f}, decay {self.last_decay:.4f}")

    @torch.no_grad()
    def evaluate(self, model):
        x, y = self.valid
        logits = model(x)
        return nn.functional.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()

    def fit(self):
        self.stage(self.args.steps * 3 // 4, noise=1.0)
        print("first stage, average: loss %.4f, right %.4f" % self.evaluate(self.ema.module))
        self.ema.decay = 0.9
        self.stage(self.args.steps, noise=0.0)
        loss, right = self.evaluate(self.ema.module)
        print(f"EVIDENCE the last update had decay {self.last_decay:.4f}, the average has loss {loss:.4f}, right {right:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=400)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    Trainer(arguments).fit()

# SPDX-License-Identifier: Apache-2.0
