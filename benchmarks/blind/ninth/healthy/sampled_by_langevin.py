"""Weights are sampled, not optimised: an optimizer of one's own adds noise after a burn-in, samples are thinned."""

import argparse
import copy
import math

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from torch import nn


class SGLD(torch.optim.Optimizer):
    """Preconditioned Langevin dynamics; `noisy` is a switch of the group."""

    def __init__(self, params, lr, beta=0.99, eps=1e-2):
        super().__init__(params, dict(lr=lr, beta=beta, eps=eps, noisy=False, data=1))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["square"] = torch.ones_like(p)
                state["square"].mul_(group["beta"]).addcmul_(p.grad, p.grad, value=1 - group["beta"])
                condition = 1 / (state["square"].sqrt() + group["eps"])
                p.addcmul_(condition, p.grad, value=-group["lr"])
                if group["noisy"]:
                    p.add_(torch.randn_like(p) * (2 * group["lr"] * condition / group["data"]).sqrt())


def rate(step, lr, cycle):
    """A cycle begins with long steps that search and ends with short ones that sample."""
    place = (step % cycle) / cycle
    return lr * (math.cos(math.pi * place) + 1) / 2 + 0.02 * lr, place > 0.6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(args.seed).permutation(len(x))
    x, y = torch.tensor(x[order] * 20, dtype=torch.float32), torch.tensor((y[order] - 152) / 77, dtype=torch.float32)
    train, test = slice(0, 342), slice(342, None)
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = SGLD(model.parameters(), lr=args.lr)
    samples, cycle = [], max(60, args.steps // 4)
    for step in range(args.steps):
        lr, sampling = rate(step, args.lr, cycle)
        for group in optimizer.param_groups:
            group.update(lr=lr, noisy=sampling and step >= cycle, data=342)  # the first cycle is a burn-in
        rows = torch.randperm(342)[:38]
        prior = sum(p.square().sum() for p in model.parameters()) / (2 * 342)
        loss = 0.5 * (model(x[train][rows]).squeeze(1) - y[train][rows]).square().mean() + 0.3 * prior
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if optimizer.param_groups[0]["noisy"] and torch.rand(()).item() < 0.1:
            samples.append(copy.deepcopy(model.state_dict()))
        if step % cycle == cycle - 1:
            told = ""
            if samples:
                probe, answers = copy.deepcopy(model), []
                for sample in samples[-20:]:
                    probe.load_state_dict(sample)
                    with torch.no_grad():
                        answers.append(probe(x[test]).squeeze(1).numpy())
                answers, truth = np.stack(answers), y[test].numpy()
                inside = np.abs(answers.mean(0) - truth) < 2 * np.sqrt(answers.var(0) + 0.5)
                error = np.mean((answers.mean(0) - truth) ** 2)
                told = f", {len(samples)} samples, error {error:.3f}, inside {inside.mean():.2f}"
            print(f"step {step + 1}: loss {loss.item():.3f}{told}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
