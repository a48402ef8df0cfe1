"""Langevin sampling of the weights of a small regression net: noise goes into each step, samples after the burn-in are kept."""
import argparse

import torch
from torch import nn


class SGLD(torch.optim.Optimizer):
    """Half a step down the gradient of the log posterior, and noise of the variance of the step."""

    def __init__(self, params, lr, temperature=1.0, prior_precision=1.0):
        super().__init__(params, dict(lr=lr, temperature=temperature, prior_precision=prior_precision))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                slope = p.grad + group["prior_precision"] * p
                p.add_(slope, alpha=-group["lr"] / 2)
                p.add_(torch.randn_like(p), alpha=(group["lr"] * group["temperature"]) ** 0.5)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-5)
    ap.add_argument("--steps", type=int, default=600)
    ap.add_argument("--burn-in", type=float, default=0.4)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    x = torch.cat([torch.rand(40, 1) * 1.5 - 2, torch.rand(40, 1) * 1.5 + 0.5])
    y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
    net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = SGLD(net.parameters(), lr=args.lr)
    grid = torch.linspace(-2, 2, 41)[:, None]
    kept = []
    for step in range(args.steps):
        energy = (net(x) - y).pow(2).sum() / (2 * 0.3 ** 2)
        optimizer.zero_grad()
        energy.backward()
        optimizer.step()
        if step >= args.burn_in * args.steps and step % 5 == 0:
            with torch.no_grad():
                kept.append(net(grid))
    answers = torch.stack(kept)
    print(f"RESULT energy={energy.item():.2f} samples={len(kept)} spread={answers.std(0).mean().item():.4f}")


if __name__ == "__main__":
    main()
