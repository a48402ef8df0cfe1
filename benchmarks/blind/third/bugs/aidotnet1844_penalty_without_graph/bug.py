"""A critic with a gradient penalty, five updates for each of the generator."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(len(real), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mixed)
    gradient, = torch.autograd.grad(score.sum(), mixed)
    return ((gradient.norm(2, dim=1) - 1) ** 2).mean()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.0, 0.9))
optimizer_c = torch.optim.Adam(critic.parameters(), lr=args.lr * 2, betas=(0.0, 0.9))
for step in range(args.steps):
    angle = 6.283 * torch.rand(48)
    real = 2 * torch.stack([angle.cos(), angle.sin()], 1)
    with torch.no_grad():
        fake = generator(torch.randn(48, 4))
    penalty = gradient_penalty(critic, real, fake)
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    optimizer_c.zero_grad()
    loss.backward()
    optimizer_c.step()
    if (step + 1) % 5 == 0:
        loss_g = -critic(generator(torch.randn(48, 4))).mean()
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
print(f"EVIDENCE penalty {penalty:.4f}, it {'has' if penalty.requires_grad else 'has no'} gradient, loss {loss:.3f}")

# Idea from ooples/AiDotNet#1844
# SPDX-License-Identifier: Apache-2.0
