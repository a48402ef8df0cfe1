"""Currency model that goes back to its last good state when a broken batch makes the loss jump."""
import argparse
import copy

import torch
from torch import nn


def quotes(step, gen):
    x = torch.randn(64, 10, generator=gen)
    y = torch.tanh(x[:, :2]).sum(1, keepdim=True)
    if step % 70 == 69:
        y = y * 400  # a feed that reports in the wrong unit
    return x, y


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    good, usual, rollbacks = None, None, 0
    for step in range(args.steps):
        x, y = quotes(step, gen)
        loss = (model(x) - y).pow(2).mean()
        if usual is not None and loss.item() > 50 * usual:
            model.load_state_dict(good["model"])
            opt.load_state_dict(copy.deepcopy(good["opt"]))
            rollbacks += 1
            print(f"step {step} loss {loss.item():.1f}: back to step {good['step']}")
            continue
        opt.zero_grad()
        loss.backward()
        opt.step()
        usual = loss.item() if usual is None else 0.9 * usual + 0.1 * loss.item()
        if step % 10 == 0:
            good = {"step": step, "model": copy.deepcopy(model.state_dict()), "opt": copy.deepcopy(opt.state_dict())}
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"rollbacks {rollbacks} usual loss {usual:.4f}")


if __name__ == "__main__":
    main()
