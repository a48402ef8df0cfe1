"""Training with a warm-up and a decay is stopped at half of its steps and goes on from a checkpoint."""

import argparse
import os
import tempfile

import torch
from torch import nn
from torch.optim.lr_scheduler import ChainedScheduler, ExponentialLR, LinearLR

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()


def schedule(optimizer):
    """Up to the full rate in ten steps, and slowly down."""
    return ChainedScheduler([LinearLR(optimizer, 0.1, 1.0, total_iters=10), ExponentialLR(optimizer, 0.99)])


class Run:
    def __init__(self, folder, file=None):
        self.file = os.path.join(folder, "checkpoint.pt")
        self.model = nn.Sequential(nn.Linear(10, 64), nn.GELU(), nn.Linear(64, 3))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.scheduler = schedule(self.optimizer)
        self.step, self.rates = 0, []
        state = torch.load(file) if file else None
        if state:
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
        if state:
            self.scheduler.load_state_dict(state["scheduler"])
            self.step = state["step"]

    def save(self):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "scheduler": self.scheduler.state_dict(), "step": self.step}, self.file)
        return self.file

    def train(self, until):
        while self.step < until:
            index = torch.randint(len(inputs), (32,))
            loss = nn.functional.cross_entropy(self.model(inputs[index]), labels[index])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.step += 1
            self.rates.append(self.scheduler.get_last_lr()[0])
            if self.step % 30 == 0:
                print(f"step {self.step}: loss {loss.item():.4f}, rate {self.optimizer.param_groups[0]['lr']:.5f}")


torch.manual_seed(args.seed)
torch.set_num_threads(1)
inputs = torch.randn(600, 10)
labels = (inputs[:, :3] + 0.5 * torch.randn(600, 3)).argmax(1)
with tempfile.TemporaryDirectory() as folder:
    first = Run(folder)
    first.train(args.steps // 2)
    file = first.save()
    second = Run(folder, file)
    second.train(args.steps)
rate = second.optimizer.param_groups[0]["lr"]
print(f"EVIDENCE the rate is {first.rates[-1]:.5f} before the stop, {second.rates[0]:.5f} after it and {rate:.6f} at the end")

# SPDX-License-Identifier: Apache-2.0
