"""A Wasserstein GAN with gradient penalty learns a ring of points; the critic has five steps for each of the generator."""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
NOISE, BATCH, WEIGHT, CRITIC_STEPS = 4, 64, 10.0, 5


def mlp(inputs, outputs, width=48):
    return nn.Sequential(nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                         nn.Linear(width, outputs))


def ring(count):
    angle = torch.rand(count) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(count, 2)


def slopes(critic, real, fake):
    share = torch.rand(len(real), 1)
    between = (share * real + (1 - share) * fake).requires_grad_()
    gradients, = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return gradients


def penalty(gradients):
    norms = gradients.norm(2, dim=1)
    return ((norms - 1) ** 2).mean()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
generator, critic = mlp(NOISE, 2), mlp(2, 1)
g_optimizer = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.0, 0.9))
c_optimizer = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.0, 0.9))
for step in range(args.steps):
    for _ in range(CRITIC_STEPS):
        real, fake = ring(BATCH), generator(torch.randn(BATCH, NOISE)).detach()
        distance = critic(real).mean() - critic(fake).mean()
        loss = -distance + WEIGHT * penalty(slopes(critic, real, fake))
        c_optimizer.zero_grad()
        loss.backward()
        c_optimizer.step()
    loss = -critic(generator(torch.randn(BATCH, NOISE))).mean()
    g_optimizer.zero_grad()
    loss.backward()
    g_optimizer.step()
    if step % 25 == 24:
        print(f"step {step}: distance {distance.item():.3f}")
fake = generator(torch.randn(512, NOISE)).detach()
each = slopes(critic, ring(512), fake).detach().norm(2, dim=1)
print(f"EVIDENCE the critic's slope is {each.mean():.3f} in the mean")

# SPDX-License-Identifier: Apache-2.0
