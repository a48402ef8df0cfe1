"""A class-conditional diffusion model of points, trained for guidance without a classifier."""
import argparse
import math

import torch
from torch import nn

CLASSES, TIMES = 4, 50


def sample_data(number):
    """Each class is a blob of points in a place of its own."""
    labels = torch.randint(CLASSES, (number,))
    angle = 2 * math.pi * labels / CLASSES
    centres = 1.5 * torch.stack([angle.cos(), angle.sin()], 1)
    return centres + 0.2 * torch.randn(number, 2), labels


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.null_class = 0
        self.class_embed = nn.Embedding(CLASSES + 1, 32)
        self.time_embed = nn.Embedding(TIMES, 32)
        self.net = nn.Sequential(nn.Linear(2 + 64, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t, y):
        return self.net(torch.cat([x, self.time_embed(t), self.class_embed(y)], -1))


class Diffusion:
    def __init__(self):
        betas = torch.linspace(1e-3, 0.15, TIMES)
        self.betas, self.alphas = betas, 1 - betas
        self.alpha_bars = torch.cumprod(self.alphas, 0)

    def loss(self, model, x, y, drop=0.2):
        t = torch.randint(TIMES, (len(x),))
        noise = torch.randn_like(x)
        bar = self.alpha_bars[t][:, None]
        dropped = torch.rand(len(y)) < drop
        y = torch.where(dropped, torch.full_like(y, model.null_class), y)
        return nn.functional.mse_loss(model(bar.sqrt() * x + (1 - bar).sqrt() * noise, t, y), noise)

    @torch.no_grad()
    def sample(self, model, y, guidance):
        x = torch.randn(len(y), 2)
        null = torch.full_like(y, model.null_class)
        for i in reversed(range(TIMES)):
            t = torch.full_like(y, i)
            without, with_class = model(x, t, null), model(x, t, y)
            noise = without + guidance * (with_class - without)
            x = (x - self.betas[i] / (1 - self.alpha_bars[i]).sqrt() * noise) / self.alphas[i].sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model, diffusion = Denoiser(), Diffusion()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        x, y = sample_data(128)
        loss = diffusion.loss(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    model.eval()
    y = torch.arange(CLASSES).repeat_interleave(100)
    angle = 2 * math.pi * y / CLASSES
    centres = 1.5 * torch.stack([angle.cos(), angle.sin()], 1)
    far = ((diffusion.sample(model, y, 1.5) - centres).norm(dim=1) > 0.6).float().view(CLASSES, -1).mean(1)
    print("EVIDENCE share of samples far from their class: " + ", ".join(f"class {c} {v:.3f}" for c, v in enumerate(far.tolist())))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
