"""A style of GAN training: lazy R1, networks frozen by turns, the generator's average draws the samples."""

import argparse
import copy

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


def requires_grad(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


def accumulate(average, model, decay=0.9):
    for a, p in zip(average.parameters(), model.parameters()):
        a.data.mul_(decay).add_(p.data, alpha=1 - decay)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
g = nn.Sequential(nn.Linear(6, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
d = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_ema = copy.deepcopy(g).eval()
requires_grad(g_ema, False)
g_optim = torch.optim.Adam(g.parameters(), lr=args.lr, betas=(0.0, 0.99))
d_optim = torch.optim.Adam(d.parameters(), lr=args.lr, betas=(0.0, 0.99))
for i in range(args.steps):
    real = torch.randn(32, 2) * torch.tensor([1.0, 0.3]) + torch.tensor([1.0, -1.0])
    requires_grad(g, False)
    requires_grad(d, True)
    fake = g(torch.randn(32, 6))
    d_loss = F.softplus(-d(real)).mean() + F.softplus(d(fake)).mean()
    d.zero_grad()
    d_loss.backward()
    d_optim.step()
    if i % 4 == 0:
        real.requires_grad = True
        score = d(real)
        gradient, = torch.autograd.grad(score.sum(), real, create_graph=True)
        r1 = gradient.pow(2).flatten(1).sum(1).mean()
        d.zero_grad()
        (10 / 2 * r1 * 4 + 0 * score[0, 0]).backward()
        d_optim.step()
    requires_grad(g, True)
    requires_grad(d, False)
    g_loss = F.softplus(-d(g(torch.randn(32, 6)))).mean()
    g.zero_grad()
    g_loss.backward()
    g_optim.step()
    accumulate(g_ema, g)
with torch.no_grad():
    sample = g_ema(torch.randn(200, 6))
print(f"losses {d_loss:.3f} and {g_loss:.3f}, mean of samples {sample.mean(0).tolist()}")

# SPDX-License-Identifier: Apache-2.0
