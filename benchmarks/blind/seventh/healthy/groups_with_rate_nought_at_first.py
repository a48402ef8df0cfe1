"""Fine-tuning in two stages by rates alone; decay and rates are set by hand in each step."""

import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.01), ("--steps", int, 150)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


def between(step, start, end, first, last):
    """A half cosine from the first value to the last one."""
    share = min(max((step - start) / max(end - start, 1), 0), 1)
    return last + (first - last) * (1 + math.cos(math.pi * share)) / 2


class Stages:
    def __init__(self, optimizer, base, steps):
        self.optimizer, self.base, self.steps = optimizer, base, steps

    def set(self, step):
        trunk, head = self.optimizer.param_groups
        thaw = self.steps // 3
        head["lr"] = between(step, 0, self.steps, self.base, self.base / 20)
        trunk["lr"] = 0.0 if step < thaw else self.base / 5 * min((step - thaw + 1) / 10, 1)
        for group in self.optimizer.param_groups:
            group["weight_decay"] = between(step, 0, self.steps, 0.01, 0.1)


def data(count, mixing, shift):
    y = torch.randint(4, (count,))
    x = torch.nn.functional.one_hot(y, 4).float() @ mixing + shift + 0.7 * torch.randn(count, 12)
    return TensorDataset(x, y)


def train(model, loader, optimizer, before_step, steps):
    step = 0
    while step < steps:
        for x, y in loader:
            before_step(step)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            if step % 30 == 0:
                rates = [f"{g['lr']:.5f}" for g in optimizer.param_groups]
                print(f"step {step}: loss {loss.item():.4f}, norm {norm.item():.3f}, rates {rates}")
            if step == steps:
                return


torch.manual_seed(args.seed)
torch.set_num_threads(1)
mixing = 0.7 * torch.randn(4, 12)
model = nn.Sequential(nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.GELU()), nn.Linear(32, 4))
first = torch.optim.AdamW(model.parameters(), lr=args.lr)
train(model, DataLoader(data(480, mixing, 0.0), batch_size=32, shuffle=True), first, lambda step: None, 40)
nn.init.zeros_(model[1].weight)
nn.init.zeros_(model[1].bias)
second = torch.optim.AdamW([{"params": model[0].parameters(), "lr": 0.0}, {"params": model[1].parameters()}], lr=args.lr)
later = DataLoader(data(480, mixing.flip(0), 0.5), batch_size=32, shuffle=True)
train(model, later, second, Stages(second, args.lr, args.steps).set, args.steps)

# SPDX-License-Identifier: Apache-2.0
