"""A critic makes five steps for one of the generator, its weights clipped."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.001)
parser.add_argument("--steps", type=int, default=25)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_opt = torch.optim.RMSprop(generator.parameters(), lr=args.lr)
c_opt = torch.optim.RMSprop(critic.parameters(), lr=args.lr)
for step in range(args.steps):
    for _ in range(5):
        angle = 6.28 * torch.rand(64, 1)
        real = torch.cat([angle.cos(), angle.sin()], 1)
        with torch.no_grad():
            fake = generator(torch.randn(64, 4))
        c_loss = critic(fake).mean() - critic(real).mean()
        c_opt.zero_grad()
        c_loss.backward()
        c_opt.step()
        for p in critic.parameters():
            p.data.clamp_(-0.05, 0.05)
    g_loss = -critic(generator(torch.randn(64, 4))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
print(f"critic {c_loss:.4f}, generator {g_loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
