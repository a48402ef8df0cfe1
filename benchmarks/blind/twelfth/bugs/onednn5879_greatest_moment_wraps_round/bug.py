"""An optimizer keeps its momentum in eight bits with one scale for each tensor."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def pack(values):
    scale = values.abs().max().clamp(min=1e-12) / 128
    return torch.round(values / scale).to(torch.int8), scale


def unpack(packed, scale):
    return packed.float() * scale


class PackedMomentum(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.9):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                moment = p.grad.clone()
                if state:
                    moment += group["momentum"] * unpack(state["packed"], state["scale"])
                state["packed"], state["scale"] = pack(moment)
                p.add_(unpack(state["packed"], state["scale"]), alpha=-group["lr"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16
    y = torch.tensor(digits.target)
    order = torch.randperm(len(x), generator=generator)
    x, y = x[order], y[order]
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 10))
    optimizer = PackedMomentum(model.parameters(), lr=args.lr)
    lowest, losses = 0, []
    for step in range(args.steps):
        rows = torch.randint(0, 1300, (32,), generator=generator)
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        lowest = min(lowest, *(state["packed"].min().item() for state in optimizer.state.values()))
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        right = (model(x[1300:]).argmax(1) == y[1300:]).float().mean()
    print(f"EVIDENCE least packed value {lowest}, mean of the last losses {sum(losses[-50:]) / 50:.4f}, right {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
