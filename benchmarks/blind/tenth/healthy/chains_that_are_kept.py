"""An energy with negative samples from chains that are kept: gradients of inputs make the samples, some chains start anew."""
import argparse

import torch
from sklearn.datasets import make_moons
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
points, _ = make_moons(2000, noise=0.06, random_state=args.seed)
points = torch.tensor(points, dtype=torch.float32)
points = (points - points.mean(0)) / points.std(0)
energy = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(energy.parameters(), lr=args.lr, betas=(0.0, 0.999))
buffer = torch.randn(1000, 2) * 2


def walk(start, moves):
    """Langevin moves; weights stand still meanwhile and get no gradient."""
    energy.requires_grad_(False)
    x = start.clone()
    for _ in range(moves):
        x.requires_grad_(True)
        slope, = torch.autograd.grad(energy(x).sum(), x)
        x = (x - 0.05 * slope.clamp(-1, 1) + 0.08 * torch.randn_like(x)).detach()
    energy.requires_grad_(True)
    return x


skipped = 0
for step in range(1, args.steps + 1):
    real = points[torch.randint(len(points), (100,))] + 0.03 * torch.randn(100, 2)
    chains = torch.randint(len(buffer), (100,))
    start = torch.where(torch.rand(100, 1) < 0.05, 2 * torch.randn(100, 2), buffer[chains])
    fake = walk(start, 10 if step < args.steps // 2 else 20)
    buffer[chains] = fake
    low, high = energy(real), energy(fake)
    gap = low.mean() - high.mean()
    loss = gap + 0.05 * (low.pow(2).mean() + high.pow(2).mean())
    if gap.item() < -3:
        skipped += 1  # far ahead of the chains: they may catch up first
        continue
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(energy.parameters(), 0.5)
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step}: gap {gap.item():.4f}, loss {loss.item():.4f}, left out {skipped}")
samples = walk(buffer[:300], 60)
print(f"samples are {torch.cdist(samples, points).min(1).values.mean().item():.4f} from the data")

# SPDX-License-Identifier: Apache-2.0
