"""Rectified flow on a ring of points with shifted noise levels and a half-bell weight of the loss that favours the noisy levels."""
import argparse
import math

import torch
import torch.nn as nn


def ring(n, gen):
    a = torch.rand(n, generator=gen) * 2 * math.pi
    r = 1 + 0.05 * torch.randn(n, generator=gen)
    return torch.stack([r * torch.cos(a), r * torch.sin(a)], 1)


class FlowScheduler:
    """1000 levels from pure noise to data, most of them near the noise (shift > 1)."""

    def __init__(self, levels=1000, shift=5.0):
        s = torch.linspace(1.0, 1.0 / levels, levels)
        self.sigmas = shift * s / (1 + (shift - 1) * s)
        self.timesteps = self.sigmas * levels
        x = self.timesteps
        bell = torch.exp(-2 * ((x - levels) / (0.5 * levels)) ** 2)
        self.weights = bell / bell.mean()

    def add_noise(self, x0, noise, idx):
        sigma = self.sigmas[idx][:, None]
        return (1 - sigma) * x0 + sigma * noise

    def training_weight(self, idx):
        return self.weights[idx]


class Velocity(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 + 8, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        freq = torch.tensor([1.0, 2.0, 4.0, 8.0])
        phase = t[:, None] / 1000 * freq * math.pi
        return self.net(torch.cat([x, phase.sin(), phase.cos()], 1))


@torch.no_grad()
def sample(model, scheduler, n, gen, steps=25):
    x = torch.randn(n, 2, generator=gen)
    picks = torch.linspace(0, len(scheduler.sigmas) - 1, steps + 1).long()
    for a, b in zip(picks[:-1], picks[1:]):
        v = model(x, scheduler.timesteps[a].expand(n))
        x = x + (scheduler.sigmas[b] - scheduler.sigmas[a]) * v
    return x


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--shift", type=float, default=5.0)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    scheduler, model = FlowScheduler(shift=args.shift), Velocity()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        x0 = ring(128, gen)
        noise = torch.randn(x0.shape, generator=gen)
        idx = torch.randint(0, len(scheduler.sigmas), (len(x0),), generator=gen)
        pred = model(scheduler.add_noise(x0, noise, idx), scheduler.timesteps[idx])
        loss = ((pred - (noise - x0)).pow(2).mean(1) * scheduler.training_weight(idx)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} weighted loss {loss.item():.4f}")
    radius = sample(model, scheduler, 400, torch.Generator().manual_seed(3)).norm(dim=1)
    print(f"radius of samples {radius.mean():.3f} +- {radius.std():.3f}")
    peak = scheduler.sigmas[scheduler.weights.argmax()].item()
    idx = torch.arange(len(scheduler.sigmas))
    share = scheduler.training_weight(idx)[scheduler.sigmas > 0.9].mean().item()
    print(f"EVIDENCE heaviest_noise_level={peak:.3f} mean_weight_of_noisy_levels={share:.3f}")


if __name__ == "__main__":
    main()
