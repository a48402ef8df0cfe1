"""A GAN for small digits: soft and sometimes flipped labels, noise on pictures that fades, a discriminator that waits when it is too good."""
import argparse
import random

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def weights_init(module):
    if isinstance(module, (nn.Linear, nn.Conv2d)):
        nn.init.normal_(module.weight, 0.0, 0.05)
        nn.init.zeros_(module.bias)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, _ = load_digits(return_X_y=True)
    loader = DataLoader(TensorDataset(torch.tensor(x, dtype=torch.float32) / 8 - 1), batch_size=64, shuffle=True, drop_last=True)
    generator = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(),
                              nn.Linear(128, 64), nn.Tanh())
    discriminator = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(128, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    generator.apply(weights_init)
    discriminator.apply(weights_init)
    g_opt = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.5, 0.999))
    d_opt = torch.optim.Adam(discriminator.parameters(), lr=args.lr, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    fixed = torch.randn(16, 16)
    step, waits, accuracy = 0, 0, 0.5
    while step < args.steps:
        for (real,) in loader:
            sigma = 0.3 * max(0.0, 1 - 2 * step / args.steps)
            noisy = lambda t: t + sigma * torch.randn_like(t) if sigma > 0 else t
            fake = generator(torch.randn(len(real), 16))
            if accuracy < 0.62:
                high = 0.8 + 0.2 * torch.rand(len(real), 1)
                low = 0.2 * torch.rand(len(real), 1)
                if random.random() < 0.05:
                    high, low = low, high
                d_real, d_fake = discriminator(noisy(real)), discriminator(noisy(fake.detach()))
                d_loss = bce(d_real, high) + bce(d_fake, low)
                d_opt.zero_grad()
                d_loss.backward()
                d_opt.step()
                seen = 0.5 * ((d_real > 0).float().mean() + (d_fake < 0).float().mean()).item()
            else:
                waits += 1
                seen = 0.5
            accuracy = 0.8 * accuracy + 0.2 * seen
            for p in discriminator.parameters():
                p.requires_grad_(False)
            g_loss = bce(discriminator(noisy(fake)), torch.ones(len(fake), 1))
            g_opt.zero_grad()
            g_loss.backward()
            g_opt.step()
            for p in discriminator.parameters():
                p.requires_grad_(True)
            step += 1
            if step % 80 == 0:
                generator.eval()
                with torch.no_grad():
                    spread = generator(fixed).std(0).mean().item()
                generator.train()
                print(f"step {step}: d {d_loss.item():.4f}, g {g_loss.item():.4f}, spread {spread:.4f}, waited {waits}")
            if step == args.steps:
                break


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
