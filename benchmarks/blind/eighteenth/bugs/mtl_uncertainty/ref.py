"""Multi-task regression with learned task weights (homoscedastic uncertainty)."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TASKS = ("yield", "density", "temp")


def make_data(seed, n=3000, n_features=16):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, n_features, generator=g)
    w = torch.randn(n_features, 12, generator=g) / n_features ** 0.5
    z = torch.tanh(x @ w)
    proj = torch.randn(12, len(TASKS), generator=g)
    y = z @ proj
    y[:, 0] = y[:, 0] + 0.5 * x[:, 0] * x[:, 1]
    y = y + 0.1 * torch.randn(y.shape, generator=g)
    y = y * torch.tensor([0.3, 1.0, 30.0])  # each task in its own unit
    return x, y


class SharedTrunk(nn.Module):
    def __init__(self, n_features=16, hidden=64):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(n_features, hidden), nn.GELU(),
            nn.Linear(hidden, hidden), nn.GELU(),
        )
        self.heads = nn.ModuleDict({name: nn.Linear(hidden, 1) for name in TASKS})

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([self.heads[name](h) for name in TASKS], dim=1)


class UncertaintyLoss(nn.Module):
    """sum_i exp(-s_i) * L_i / 2 + s_i / 2 with one learned s_i per task."""

    def __init__(self, n_tasks):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(n_tasks))

    def forward(self, pred, target):
        per_task = (pred - target).pow(2).mean(dim=0)
        total = 0.5 * (torch.exp(-self.log_vars) * per_task + self.log_vars).sum()
        return total, per_task.detach()


def build_optimizer(model, criterion, lr):
    groups = [
        {"params": list(model.parameters()), "lr": lr},
        {"params": list(criterion.parameters()), "lr": 20 * lr, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, weight_decay=1e-4)


@torch.no_grad()
def r2_scores(model, x, y):
    model.eval()
    residual = (model(x) - y).pow(2).mean(dim=0)
    return 1 - residual / y.var(dim=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    x, y = make_data(args.seed)
    train = TensorDataset(x[:2400], y[:2400])
    x_test, y_test = x[2400:], y[2400:]
    loader = DataLoader(train, batch_size=128, shuffle=True, drop_last=True)

    model = SharedTrunk()
    criterion = UncertaintyLoss(len(TASKS))
    optimizer = build_optimizer(model, criterion, args.lr)

    step = 0
    while step < args.steps:
        for xb, yb in loader:
            model.train()
            loss, per_task = criterion(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 20 == 0:
                parts = " ".join(f"{n}={v:.3f}" for n, v in zip(TASKS, per_task.tolist()))
                print(f"step {step} loss {loss.item():.4f} {parts}")
            if step >= args.steps:
                break

    scores = r2_scores(model, x_test, y_test)
    parts = " ".join(f"r2_{n} {v:.4f}" for n, v in zip(TASKS, scores.tolist()))
    print(f"EVIDENCE mean_r2 {scores.mean().item():.4f} {parts}")


if __name__ == "__main__":
    main()
