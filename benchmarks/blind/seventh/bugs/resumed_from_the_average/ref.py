"""A regression is stopped in the middle and goes on in new objects from a file; weights are averaged, too."""

import argparse
import copy
import pathlib
import tempfile

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()


class Run:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(6, 32), nn.SiLU(), nn.Linear(32, 1))
        self.ema = copy.deepcopy(self.model).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.step = 0

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "ema": self.ema.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "step": self.step}, path)

    def load(self, path):
        state = torch.load(path, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.ema.load_state_dict(state["ema"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]

    def train(self, until, x, y):
        while self.step < until:
            rows = torch.randint(len(x), (32,))
            loss = nn.functional.mse_loss(self.model(x[rows]).squeeze(1), y[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            with torch.no_grad():
                for slow, fast in zip(self.ema.parameters(), self.model.parameters()):
                    slow.lerp_(fast, 0.02)
            self.step += 1
            if self.step % 20 == 0:
                print(f"step {self.step}: loss {loss.item():.4f}")


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(600, 6)
y = (x[:, 0] * x[:, 1]).sin() + x[:, 2:].sum(1) / 3
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "last.pt"
    first = Run()
    first.train(args.steps // 2, x, y)
    first.save(path)
    second = Run()
    second.load(path)
gap = sum((a - b).abs().sum() for a, b in zip(first.model.parameters(), second.model.parameters())).item()
second.train(args.steps, x, y)
print(f"EVIDENCE the weights that training goes on from differ by {gap:.4f} from those it stopped with")

# SPDX-License-Identifier: Apache-2.0
