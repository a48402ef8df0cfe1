"""Probabilistic forecasts of a skewed demand: a GRU gives five quantiles for each hour ahead."""
import argparse
from dataclasses import dataclass

import torch
from torch import nn

LEVELS = torch.tensor([0.1, 0.3, 0.5, 0.7, 0.95])


@dataclass
class Sizes:
    past: int = 36
    ahead: int = 8
    hidden: int = 32


def quantile_loss(prediction, target, level):
    """Pinball loss: a target above the prediction costs `level`, one below costs the rest."""
    error = target - prediction
    return torch.maximum(level * error, (level - 1) * error)


def multi_quantile_loss(forecast, future):
    total = 0.0
    for k, level in enumerate(LEVELS):
        total = total + quantile_loss(forecast[..., k], future, level).mean()
    return total / len(LEVELS)


class DemandNet(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        self.rnn = nn.GRU(3, sizes.hidden, batch_first=True)
        self.head = nn.Linear(sizes.hidden, sizes.ahead * len(LEVELS))

    def forward(self, past, clock):
        x = torch.stack([past, clock.sin(), clock.cos()], dim=-1)
        _, state = self.rnn(x)
        return self.head(state[-1]).view(-1, self.sizes.ahead, len(LEVELS))


def demand(gen, sizes, count):
    """A daily wave with bursts that only go upwards."""
    hours = torch.arange(sizes.past + sizes.ahead) + torch.randint(0, 24, (count, 1), generator=gen)
    clock = hours * (2 * torch.pi / 24)
    base = 1.0 + 0.6 * clock.sin() + 0.3 * torch.randn(count, 1, generator=gen)
    bursts = -torch.log1p(-torch.rand(base.shape[0], sizes.past + sizes.ahead, generator=gen) * 0.999)
    return base + 0.5 * bursts, clock


def fit(args, sizes):
    torch.manual_seed(args.seed)
    net = DemandNet(sizes)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 5)
    for step in range(args.steps):
        series, clock = demand(gen, sizes, 48)
        past, future = series.split([sizes.past, sizes.ahead], dim=1)
        forecast = net(past, clock[:, :sizes.past])
        loss = multi_quantile_loss(forecast, future)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} pinball {loss.item():.4f}")
    return net


@torch.no_grad()
def coverage(net, sizes):
    """The share of values below each quantile, which should be its level."""
    series, clock = demand(torch.Generator().manual_seed(2024), sizes, 512)
    past, future = series.split([sizes.past, sizes.ahead], dim=1)
    forecast = net(past, clock[:, :sizes.past])
    return (future[..., None] < forecast).float().mean((0, 1)).tolist()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=250)
    options = parser.parse_args()
    shares = coverage(fit(options, Sizes()), Sizes())
    print("EVIDENCE " + " ".join(f"below_{level:.2f}={share:.3f}" for level, share in zip(LEVELS.tolist(), shares)))
