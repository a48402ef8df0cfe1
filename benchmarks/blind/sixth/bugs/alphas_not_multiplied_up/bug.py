"""Diffusion of points on a ring: a network predicts the noise; points are drawn backwards from pure noise."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=400)
args = parser.parse_args()
TIMES = 40


class Schedule:
    def __init__(self, times):
        self.betas = torch.linspace(1e-3, 0.2, times)
        self.alphas = 1 - self.betas
        self.kept = self.alphas.clone()

    def noisy(self, clean, time, noise):
        kept = self.kept[time][:, None]
        return kept.sqrt() * clean + (1 - kept).sqrt() * noise


class Network(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.time = nn.Embedding(TIMES, width)
        self.into, self.middle, self.out = nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, x, time):
        hidden = nn.functional.silu(self.into(x) + self.time(time))
        return self.out(nn.functional.silu(self.middle(hidden)))


def ring(count):
    angle = 2 * math.pi * torch.rand(count)
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(count, 2)


@torch.no_grad()
def sample(model, schedule, count):
    model.eval()
    x = torch.randn(count, 2)
    for t in reversed(range(TIMES)):
        beta, alpha = schedule.betas[t], schedule.alphas[t]
        noise = model(x, torch.full((count,), t))
        x = (x - beta / (1 - schedule.kept[t]).sqrt() * noise) / alpha.sqrt()
        if t:
            x = x + beta.sqrt() * torch.randn_like(x)
    model.train()
    return x


torch.manual_seed(args.seed)
torch.set_num_threads(1)
schedule, model = Schedule(TIMES), Network()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
for step in range(1, args.steps + 1):
    clean = ring(128)
    time, noise = torch.randint(TIMES, (len(clean),)), torch.randn_like(clean)
    loss = nn.functional.mse_loss(model(schedule.noisy(clean, time, noise), time), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 100 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
drawn = sample(model, schedule, 500)
print(f"drawn points have a mean distance of {drawn.norm(dim=1).mean():.3f} from the middle of the ring")
print(f"EVIDENCE at the last time {schedule.kept[-1].item():.4f} of the variance is signal, loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
