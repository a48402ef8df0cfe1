"""Diffusion of digits: half of the batches see the network's own first guess, times are stratified, losses weighted, weights averaged."""
import argparse
import copy
import math
import random

import torch
from sklearn.datasets import load_digits
from torch import nn

TIMES = 60


class Denoiser(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.register_buffer("frequencies", torch.exp(-math.log(1000) * torch.arange(16) / 16))
        self.net = nn.Sequential(nn.Linear(64 * 2 + 32, width), nn.SiLU(), nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 64))
        nn.init.zeros_(self.net[-1].weight)

    def forward(self, x, t, guess=None):
        angles = t[:, None].float() * self.frequencies
        guess = torch.zeros_like(x) if guess is None else guess
        return self.net(torch.cat([x, guess, angles.sin(), angles.cos()], 1))


@torch.no_grad()
def update_average(average, model, step):
    decay = min(0.99, (1 + step) / (10 + step))
    for a, p in zip(average.parameters(), model.parameters()):
        a.lerp_(p, 1 - decay)


@torch.no_grad()
def sample(model, bars, number, every=4):
    """Deterministic steps over a part of the times."""
    x, guess = torch.randn(number, 64), None
    times = list(range(TIMES - 1, -1, -every))
    for now, following in zip(times, times[1:] + [None]):
        guess = model(x, torch.full((number,), now), guess).clamp(-1.2, 1.2)
        noise = (x - bars[now].sqrt() * guess) / (1 - bars[now]).sqrt()
        x = guess if following is None else bars[following].sqrt() * guess + (1 - bars[following]).sqrt() * noise
    return x


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, _ = load_digits(return_X_y=True)
    x = torch.tensor(x, dtype=torch.float32) / 8 - 1
    bars = torch.cos((torch.arange(TIMES) + 1) / (TIMES + 1) * math.pi / 2).pow(2)
    snr = bars / (1 - bars)
    model = Denoiser()
    average = copy.deepcopy(model).requires_grad_(False).eval()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=max(1, args.steps // 10))
    for step in range(args.steps):
        batch = x[torch.randint(len(x), (64,))]
        t = ((torch.arange(64) + torch.rand(64)) / 64 * TIMES).long()[torch.randperm(64)]
        noise = torch.randn_like(batch)
        noisy = bars[t, None].sqrt() * batch + (1 - bars[t, None]).sqrt() * noise
        guess = None
        if random.random() < 0.5:
            with torch.no_grad():
                guess = model(noisy, t)
        error = (model(noisy, t, guess) - batch).pow(2).mean(1)
        loss = (snr[t].clamp(max=5.0) * error).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        update_average(average, model, step)
        if (step + 1) % 100 == 0:
            made = sample(average, bars, 64)
            gap = (made.mean(0) - x.mean(0)).abs().mean().item()
            print(f"step {step + 1}: loss {loss.item():.4f}, samples {made.mean().item():.3f} +- {made.std().item():.3f}, gap {gap:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
