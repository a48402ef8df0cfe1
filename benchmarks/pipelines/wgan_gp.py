"""WGAN with a gradient penalty: three steps of the critic for one of the generator, gradients of gradients."""

import torch
from sklearn.datasets import load_digits
from torch import nn

from options import options


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(len(real), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mixed)
    (grad,) = torch.autograd.grad(score, mixed, grad_outputs=torch.ones_like(score), create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def main():
    args = options(lr=1e-3, width=64, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    images = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1
    generator, critic = mlp(8, args.width, 64), mlp(64, args.width, 1)
    opt_g = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.0, 0.9))
    for i in range(args.steps // 4):
        for _ in range(3):
            real = images[torch.randint(len(images), (64,))]
            fake = generator(torch.randn(64, 8)).detach()
            loss_c = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(critic, real, fake)
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
        loss_g = -critic(generator(torch.randn(64, 8))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if i % 5 == 4:
            print(f"round {i + 1}: critic {loss_c.item():.3f}, generator {loss_g.item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
