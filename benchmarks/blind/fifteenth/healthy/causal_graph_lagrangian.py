"""Which sensor drives which: learn a directed acyclic graph from observations (continuous structure learning)."""
import argparse

import numpy as np
import torch

ap = argparse.ArgumentParser()
ap.add_argument("--seed", type=int, default=0)
ap.add_argument("--lr", type=float, default=1e-2)
ap.add_argument("--steps", type=int, default=2500, help="steps in all inner problems together")
opt_args = ap.parse_args()
torch.manual_seed(opt_args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(opt_args.seed)
D, N, HIDDEN, L1 = 8, 600, 8, 0.08


def simulate():
    order = rng.permutation(D)
    truth = np.zeros((D, D), dtype=bool)
    data = np.zeros((N, D))
    for place, j in enumerate(order):
        parents = [i for i in order[:place] if rng.random() < 0.35][:3]
        signal = np.zeros(N)
        for i in parents:
            truth[i, j] = True
            kind = rng.integers(3)
            z = data[:, i]
            signal += (1.2 * z, 1.5 * np.tanh(2 * z), 1.3 * np.sin(1.5 * z))[kind]
        data[:, j] = signal + 0.6 * rng.normal(size=N)
        data[:, j] -= data[:, j].mean()
    return torch.tensor(data, dtype=torch.float32), truth


class Mechanisms(torch.nn.Module):
    """One small network for each variable; the norms of first-layer columns are the weights of the graph."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Parameter(0.1 * torch.randn(D, HIDDEN, D))
        self.bias = torch.nn.Parameter(torch.zeros(D, HIDDEN))
        self.second = torch.nn.Parameter(torch.randn(D, HIDDEN) / HIDDEN**0.5)
        self.register_buffer("allowed", (1 - torch.eye(D))[:, None, :].clone())

    def adjacency(self):
        return (self.first * self.allowed).square().sum(1).t()  # [parent, child]

    def forward(self, x):
        h = torch.einsum("jhd,nd->njh", self.first * self.allowed, x) + self.bias
        return (torch.tanh(h) * self.second).sum(-1)


def acyclicity(a):
    return torch.trace(torch.matrix_exp(a)) - D


def shrink_(model, amount):
    """proximal step of the group penalty"""
    with torch.no_grad():
        norm = model.first.norm(dim=1, keepdim=True)
        model.first.mul_((1 - amount / norm.clamp(min=1e-8)).clamp(min=0))


x, truth = simulate()
model = Mechanisms()
rho, multiplier, h_old, used, outer = 1.0, 0.0, float("inf"), 0, 0
while used < opt_args.steps:
    # the inner problem is solved anew with a fresh optimizer; it ends when nothing moves any more
    optimizer = torch.optim.Adam(model.parameters(), lr=opt_args.lr / (1 + 0.3 * outer), betas=(0.9, 0.99))
    previous, calm = float("inf"), 0
    for inner in range(400):
        rows = slice(None) if inner % 10 == 0 else torch.randperm(N)[:200]
        batch = x[rows]
        fit = 0.5 * (model(batch) - batch).square().sum(1).mean()
        h = acyclicity(model.adjacency())
        loss = fit + 0.5 * rho * h * h + multiplier * h + 0.02 * model.second.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shrink_(model, L1 * optimizer.param_groups[0]["lr"])
        used += 1
        if inner % 10 == 0:  # judged on all rows
            calm = calm + 1 if abs(previous - loss.item()) < 1e-3 * abs(loss.item()) else 0
            previous = loss.item()
        if calm >= 3 or used >= opt_args.steps:
            break
    with torch.no_grad():
        h_now = acyclicity(model.adjacency()).item()
    print(f"outer {outer:2d} inner {inner + 1:3d} fit {fit.item():.3f} h {h_now:.2e} rho {rho:.0e} multiplier {multiplier:.2f}")
    if h_now > 0.25 * h_old and rho < 1e5:
        rho *= 10
    multiplier += rho * h_now
    h_old, outer = h_now, outer + 1
    if h_now < 1e-7:
        break

with torch.no_grad():
    weight = model.adjacency().sqrt()
    # the smallest threshold that leaves no circle
    for cut in np.arange(0.2, 2.0, 0.02):
        kept = weight > cut
        power, path = kept.float(), torch.zeros(())
        for _ in range(D):
            path = path + torch.trace(power)
            power = (power @ kept.float()).clamp(max=1)
        if path == 0:
            break
    model.allowed.mul_(kept.t()[:, None, :].float())

lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=60, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    loss = 0.5 * (model(x) - x).square().sum(1).mean() + 1e-4 * sum(p.square().sum() for p in model.parameters())
    loss.backward()
    return loss


for _ in range(3):
    final = lbfgs.step(closure)
found = kept.numpy()
right, wrong = int((found & truth).sum()), int((found & ~truth).sum())
print(f"EVIDENCE {right} of {int(truth.sum())} edges found, {wrong} wrong, cut at {cut:.2f}, refitted {final.item():.3f}")
