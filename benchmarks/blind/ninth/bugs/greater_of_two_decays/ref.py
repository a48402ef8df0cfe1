"""An average of weights with a warm-up of its decay, as in many repositories of diffusion; here it denoises curves."""

import argparse
import copy
import math

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay=0.998):
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.updates = decay, 0

    def current_decay(self):
        return min(self.decay, (1 + self.updates) / (10 + self.updates))

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        decay = self.current_decay()
        for average, value in zip(self.module.parameters(), model.parameters()):
            average.mul_(decay).add_(value, alpha=1 - decay)


class Denoiser(nn.Module):
    def __init__(self, points=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(points + 1, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, points))

    def forward(self, noisy, sigma):
        return noisy - sigma * self.net(torch.cat([noisy, sigma], 1))


def curves(count, generator):
    t = torch.linspace(0, 2 * math.pi, 32)
    phase, rate = torch.rand(2, count, 1, generator=generator)
    return torch.sin((1 + 2 * rate) * t + 6.28 * phase)


def noisy_pair(count, generator):
    clean = curves(count, generator)
    sigma = 0.2 + 0.8 * torch.rand(count, 1, generator=generator)
    return clean, clean + sigma * torch.randn(clean.shape, generator=generator), sigma


@torch.no_grad()
def evaluate(model):
    clean, noisy, sigma = noisy_pair(800, torch.Generator().manual_seed(4242))
    return nn.functional.mse_loss(model(noisy, sigma), clean).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed)
    model = Denoiser()
    ema = EMA(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        clean, noisy, sigma = noisy_pair(48, generator)
        loss = ((model(noisy, sigma) - clean) ** 2 / sigma ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
        if step % 150 == 0:
            print(f"step {step}: loss {loss.item():.4f}, error {evaluate(model):.4f}, average {evaluate(ema.module):.4f}")
    print(f"EVIDENCE error of the average {evaluate(ema.module):.5f}, last decay {ema.current_decay():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
