"""Denoising diffusion of points on a circle; samples are compared with the circle after training."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=500)
args = parser.parse_args()
TIMES = 20
BETAS = torch.linspace(0.05, 0.3, TIMES)
KEPT = (1 - BETAS).cumprod(0)


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.time = nn.Embedding(TIMES, width)
        self.first, self.middle, self.last = nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, x, time):
        h = torch.relu(self.first(x) + self.time(time))
        return self.last(torch.relu(self.middle(h) + self.time(time)))


@torch.no_grad()
def sample(model, count):
    x = torch.randn(count, 2)
    for t in reversed(range(TIMES)):
        guess = model(x, torch.full((count,), t))
        x = (x - BETAS[t] / (1 - KEPT[t]).sqrt() * guess) / (1 - BETAS[t]).sqrt()
        if t >= 0:
            spread = BETAS[t] * (1 - KEPT[t - 1]) / (1 - KEPT[t])
            x = x + spread.sqrt() * torch.randn_like(x)
    return x


torch.manual_seed(args.seed)
torch.set_num_threads(1)
turn = torch.rand(2000) * 6.283
data = torch.stack([turn.cos(), turn.sin()], dim=1)
model = Denoiser()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    clean, t = data[torch.randint(len(data), (256,))], torch.randint(TIMES, (256,))
    noise = torch.randn_like(clean)
    mixed = KEPT[t, None].sqrt() * clean + (1 - KEPT[t, None]).sqrt() * noise
    loss = nn.functional.mse_loss(model(mixed, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        off = (sample(model, 500).norm(dim=1) - 1).abs().mean().item()
        print(f"step {step}: loss {loss.item():.4f}, samples are {off:.4f} off")
final = sample(model, 3000)
print(f"EVIDENCE samples are {(final.norm(dim=1) - 1).abs().mean().item():.4f} off the circle")

# SPDX-License-Identifier: Apache-2.0
