"""A denoiser of points on a spiral learns the noise at random times."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
T = 50


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(T, 24)
        self.net = nn.Sequential(nn.Linear(2 + 24, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


class Schedule:
    def __init__(self):
        betas = torch.linspace(1e-3, 0.1, T)
        self.alphas_cumprod = torch.cumprod(1 - betas, 0)

    def sample_times(self, n):
        return torch.randint(0, T, (1,)).expand(n)

    def add_noise(self, x, noise, t):
        a = self.alphas_cumprod[t][:, None]
        return a.sqrt() * x + (1 - a).sqrt() * noise


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model, schedule = Denoiser(), Schedule()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
losses, distinct = [], []
for step in range(args.steps):
    angle = 3 + 6 * torch.rand(64)
    x = torch.stack([angle * angle.cos(), angle * angle.sin()], 1) / 6
    noise = torch.randn_like(x)
    t = schedule.sample_times(len(x))
    loss = nn.functional.mse_loss(model(schedule.add_noise(x, noise, t), t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    distinct.append(t.unique().numel())
print(f"EVIDENCE {sum(distinct) / len(distinct):.1f} times in a batch, spread of the loss {torch.tensor(losses[20:]).std():.4f}")

# Idea from Stability-AI/StableCascade#142, huggingface/diffusers#25
# SPDX-License-Identifier: Apache-2.0
