"""L-BFGS with a strong Wolfe search on a physics-informed network: the closure runs many times for a step, with second derivatives."""
import argparse

import torch
import torch.nn as nn


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1.0)
    ap.add_argument("--steps", type=int, default=15)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
    warm = torch.optim.Adam(net.parameters(), lr=5e-3)
    search = torch.optim.LBFGS(net.parameters(), lr=args.lr, max_iter=8, history_size=20, line_search_fn="strong_wolfe")
    t = torch.linspace(0, 3, 40)[:, None].requires_grad_(True)
    calls = 0

    def loss_of():
        """A spring: u'' + 4 u = 0 with u(0) = 1 and u'(0) = 0."""
        u = net(t)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
        return (ddu + 4 * u).pow(2).mean() + 10 * (u[0] - 1).pow(2).mean() + 10 * du[0].pow(2).mean()

    for _ in range(150):
        loss = loss_of()
        warm.zero_grad()
        loss.backward()
        warm.step()

    def closure():
        nonlocal calls
        calls += 1
        search.zero_grad()
        loss = loss_of()
        loss.backward()
        return loss

    for step in range(args.steps):
        loss = search.step(closure)
        if step % 5 == 4:
            print(f"step {step + 1} loss {loss.item():.6f} calls {calls}")
    error = (net(t) - torch.cos(2 * t)).abs().max().item()
    print(f"RESULT loss={loss.item():.6f} error={error:.4f} calls={calls}")


if __name__ == "__main__":
    main()
