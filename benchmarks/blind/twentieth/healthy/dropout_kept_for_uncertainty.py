"""Bridge sensors: validation by Monte Carlo dropout, with batch norm in inference mode."""
import argparse

import torch
from torch import nn


class SensorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def bridge(n, gen):
    x = torch.randn(n, 8, generator=gen)
    return x, x[:, 0] * x[:, 1] + torch.cos(x[:, 2]) + 0.1 * torch.randn(n, generator=gen)


@torch.no_grad()
def monte_carlo(model, x, draws=20):
    """Mean and spread of stochastic passes; only the dropout layers are in training mode."""
    was_training = model.training
    model.eval()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()
    samples = torch.stack([model(x) for _ in range(draws)])
    model.train(was_training)
    return samples.mean(0), samples.std(0)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = SensorNet()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    val_x, val_y = bridge(400, gen)
    for step in range(args.steps):
        x, y = bridge(128, gen)
        loss = (model(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 60 == 0:
            mean, std = monte_carlo(model, val_x)
            print(f"step {step} loss {loss.item():.4f} val {(mean - val_y).pow(2).mean():.4f} spread {std.mean():.4f}")
    mean, std = monte_carlo(model, val_x)
    print(f"val mse {(mean - val_y).pow(2).mean():.4f} spread {std.mean():.4f}")


if __name__ == "__main__":
    main()
