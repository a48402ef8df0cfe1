"""Uncertainty of credit scores: at test time dropout stays on (Monte Carlo), batch norm does not."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer


def data(seed):
    x, y = load_breast_cancer(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    x, y = x[order], y[order]
    x = (x - x[:400].mean(0)) / x[:400].std(0)
    return (x[:400], y[:400]), (x[400:], y[400:])


def build():
    return nn.Sequential(
        nn.Linear(30, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))


def enable_dropout(model):
    model.eval()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()


@torch.no_grad()
def mc_predict(model, x, passes):
    enable_dropout(model)
    probs = torch.stack([model(x + 0.02 * torch.randn_like(x)).softmax(1) for _ in range(passes)])
    return probs.mean(0), probs[..., 1].std(0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=150)
    p.add_argument("--passes", type=int, default=20)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    (x, y), (x_test, y_test) = data(args.seed)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed)
    for step in range(1, args.steps + 1):
        model.train()
        idx = torch.randint(0, len(y), (48,), generator=gen)
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            mean, std = mc_predict(model, x_test, args.passes)
            acc = (mean.argmax(1) == y_test).float().mean().item()
            print(f"step {step} loss {loss.item():.4f} acc {acc:.3f} spread {std.mean().item():.4f}")
    mean, std = mc_predict(model, x_test, args.passes)
    wrong = mean.argmax(1) != y_test
    print(f"RESULT errors={int(wrong.sum())} spread_all={std.mean().item():.4f}")


if __name__ == "__main__":
    main()
