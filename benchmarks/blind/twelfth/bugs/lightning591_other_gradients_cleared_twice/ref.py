"""A small adversarial pair learns points on a ring."""
import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn


def real_points(count, generator):
    angle = torch.rand(count, generator=generator) * 2 * math.pi
    ring = torch.stack([angle.cos(), angle.sin()], 1)
    return ring + 0.05 * torch.randn(count, 2, generator=generator)


def judge(logits, label):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, label))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=600)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    net_g = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
    net_d = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
    opt_g = torch.optim.Adam(net_g.parameters(), lr=args.lr, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(net_d.parameters(), lr=args.lr, betas=(0.5, 0.99))
    norms = []
    for step in range(args.steps):
        real = real_points(64, generator)
        fake = net_g(torch.randn(64, 4, generator=generator))
        loss_d = judge(net_d(real), 1.0) + judge(net_d(fake.detach()), 0.0)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        norms.append(torch.stack([p.grad.norm() for p in net_d.parameters()]).norm().item())
        loss_g = judge(net_d(fake), 1.0)
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if step % 100 == 0:
            print(f"step {step}: discriminator {loss_d.item():.4f}, generator {loss_g.item():.4f}")
    with torch.no_grad():
        radius = net_g(torch.randn(1000, 4, generator=generator)).norm(dim=1)
    print(f"EVIDENCE mean norm of the discriminator's gradient {sum(norms) / len(norms):.4f}, points are "
          f"{(radius - 1).abs().mean().item():.4f} off the ring, loss {loss_d.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
