"""A classifier is trained, then fine-tuned with a small rate on newer data; the optimizer's moments are taken along."""

import argparse
import io
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Phase:
    name: str
    steps: int
    lr: float
    shift: float


class Run:
    def __init__(self, phase, checkpoint=None):
        self.phase = phase
        self.model = nn.Sequential(nn.Linear(10, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 5))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=phase.lr)
        if checkpoint is not None:
            self.load(checkpoint)

    def load(self, checkpoint):
        checkpoint.seek(0)
        state = torch.load(checkpoint, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        for group in self.optimizer.param_groups:
            group["lr"] = self.phase.lr

    def save(self):
        checkpoint = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, checkpoint)
        return checkpoint

    def fit(self, draw):
        for step in range(1, self.phase.steps + 1):
            x, y = draw(64, self.phase.shift)
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 50 == 0:
                print(f"{self.phase.name}, step {step}: loss {loss.item():.4f}, right {self.accuracy(draw):.3f}")

    @torch.no_grad()
    def accuracy(self, draw):
        x, y = draw(1000, self.phase.shift)
        return (self.model(x).argmax(1) == y).float().mean().item()


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=600)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(5, 10)
drift = torch.randn(10) * 0.5


def draw(size, shift):
    y = torch.randint(5, (size,))
    return centres[y] + shift * drift + 0.8 * torch.randn(size, 10), y


first = Run(Phase("pretraining", args.steps // 2, args.lr, 0.0))
first.fit(draw)
second = Run(Phase("fine-tuning", args.steps - args.steps // 2, args.lr / 50, 1.0), first.save())
start = nn.utils.parameters_to_vector(second.model.parameters()).detach().clone()
second.fit(draw)
moved = (nn.utils.parameters_to_vector(second.model.parameters()) - start).norm().item()
print(f"EVIDENCE fine-tuning moved the weights by {moved:.4f}")

# SPDX-License-Identifier: Apache-2.0
