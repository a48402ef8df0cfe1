"""A conditional generator learns from a reconstruction and from a discriminator."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6 + 4, 48), nn.ReLU(), nn.Linear(48, 8))

    def forward(self, condition):
        return self.net(torch.cat([condition, torch.randn(len(condition), 4)], 1))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(14, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))

    def forward(self, x, condition):
        return self.net(torch.cat([x, condition], 1))


torch.manual_seed(args.seed)
torch.set_num_threads(1)
generator, discriminator = Generator(), Discriminator()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=args.lr, betas=(0.5, 0.999))
mix = torch.randn(6, 8)
for step in range(args.steps):
    condition = torch.randn(32, 6)
    real = (condition @ mix).tanh() + 0.3 * torch.randn(32, 8)
    fake = generator(condition)

    d_fake = discriminator(fake.detach(), condition)
    loss_adversarial = nn.functional.mse_loss(d_fake, torch.ones_like(d_fake))
    loss_g = loss_adversarial + 5 * nn.functional.l1_loss(fake, real)
    optimizer_g.zero_grad()
    loss_g.backward()
    optimizer_g.step()

    d_real, d_fake = discriminator(real, condition), discriminator(fake.detach(), condition)
    loss_d = nn.functional.mse_loss(d_real, torch.ones_like(d_real)) + d_fake.pow(2).mean()
    optimizer_d.zero_grad()
    loss_d.backward()
    optimizer_d.step()
print(f"EVIDENCE loss of the generator {loss_g:.3f}, of it by the discriminator {loss_adversarial:.3f}, spread {fake.std():.3f}")

# Idea from nikhilsinghmus/image2reverb#37, wangle53/CSA-CDGAN#5
# SPDX-License-Identifier: Apache-2.0
