"""A conditional GAN for small patterns: stripes and blobs in six classes."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--steps", type=int, default=500)
CLASSES, SIZE, NOISE = 6, 8, 16


def patterns():
    row, column = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    images = [row % 4 < 2, column % 4 < 2, (row + column) % 4 < 2, row < 4, column < 4, (row - 3.5).abs() + (column - 3.5).abs() < 4]
    return torch.stack(images).float().flatten(1) * 2 - 1


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(CLASSES, 16)
        self.net = nn.Sequential(nn.Linear(NOISE + 16, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, SIZE * SIZE), nn.Tanh())

    def forward(self, z, labels):
        return self.net(torch.cat([z, self.embed(labels)], 1))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(SIZE * SIZE, 96), nn.LeakyReLU(0.2), nn.Linear(96, 64), nn.LeakyReLU(0.2))
        self.out = nn.Linear(64, 1)
        self.embed = nn.Embedding(CLASSES, 64)

    def forward(self, x, labels):
        features = self.body(x)
        return self.out(features).squeeze(1) + (self.embed(labels) * features).sum(1)


def real_batch(bank, count):
    labels = torch.randint(CLASSES, (count,))
    return bank[labels] * (0.8 + 0.2 * torch.rand(count, 1)) + 0.1 * torch.randn(count, SIZE * SIZE), labels


@torch.no_grad()
def matching(generator, bank, count=600):
    """How often is the pattern that is nearest to a sample that of its label?"""
    labels = torch.randint(CLASSES, (count,))
    samples = generator(torch.randn(count, NOISE), labels)
    distance = torch.cdist(samples, bank)
    return (distance.argmin(1) == labels).float().mean().item(), distance.min(1).values.mean().item()


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    bank = patterns()
    generator, discriminator = Generator(), Discriminator()
    opt_g = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(discriminator.parameters(), lr=args.lr, betas=(0.5, 0.99))
    for step in range(1, args.steps + 1):
        real, labels = real_batch(bank, 64)
        wanted = torch.randint(CLASSES, (64,))
        fake = generator(torch.randn(64, NOISE), wanted)

        loss_d = F.softplus(-discriminator(real, labels)).mean() + F.softplus(discriminator(fake.detach(), wanted)).mean()
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

        loss_g = F.softplus(-discriminator(fake, wanted)).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if step % 100 == 0:
            right, distance = matching(generator, bank)
            print(f"step {step}: loss_d {loss_d.item():.4f}, loss_g {loss_g.item():.4f}, right {right:.3f}")
    right, distance = matching(generator, bank)
    print(f"EVIDENCE samples that show their class {right:.4f}, distance from the nearest pattern {distance:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
