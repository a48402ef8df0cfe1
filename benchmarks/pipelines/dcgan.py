"""A convolutional GAN: weights drawn by `apply` as in its paper, norms around one, two optimizers, one-sided smoothing."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from options import options

NOISE = 16


def init_weights(module):
    name = type(module).__name__
    if "Conv" in name:
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


def make_generator(width):
    return nn.Sequential(
        nn.ConvTranspose2d(NOISE, 2 * width, 2, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(True),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
        nn.ConvTranspose2d(width, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip


def make_critic(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True),
        nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2, True),
        nn.Conv2d(2 * width, 1, 2, bias=False), nn.Flatten(0),
    )  # fmt: skip


def main():
    args = options(lr=2e-3, width=16, steps=44)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    images = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 8 - 1
    loader = DataLoader(TensorDataset(images), batch_size=80, shuffle=True, drop_last=True)
    generator, critic = make_generator(args.width).apply(init_weights), make_critic(args.width).apply(init_weights)
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.5, 0.999))
    c_optimizer = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.5, 0.999))
    fixed = torch.randn(64, NOISE, 1, 1)
    for epoch in range(max(2, args.steps // len(loader))):
        generator.train()
        for (real,) in loader:
            c_optimizer.zero_grad()
            fake = generator(torch.randn(len(real), NOISE, 1, 1))
            real_score, fake_score = critic(real), critic(fake.detach())
            c_loss = F.binary_cross_entropy_with_logits(real_score, torch.full_like(real_score, 0.9))
            c_loss = c_loss + F.binary_cross_entropy_with_logits(fake_score, torch.zeros_like(fake_score))
            c_loss.backward()
            c_optimizer.step()
            g_optimizer.zero_grad()
            score = critic(fake)
            g_loss = F.binary_cross_entropy_with_logits(score, torch.ones_like(score))
            g_loss.backward()
            g_optimizer.step()
        generator.eval()
        with torch.no_grad():
            spread = generator(fixed).std(0).mean().item()
        print(f"epoch {epoch}: critic {c_loss.item():.3f}, generator {g_loss.item():.3f}, spread {spread:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
