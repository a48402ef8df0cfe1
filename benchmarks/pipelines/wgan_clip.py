"""WGAN as first published: the critic's weights clipped by hand, RMSprop, the critic frozen while the generator learns."""

import torch
from sklearn.datasets import load_digits
from torch import nn

from options import options


class Generator(nn.Module):
    def __init__(self, nz, width):
        super().__init__()
        self.nz = nz
        self.net = nn.Sequential(
            nn.Linear(nz, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU(),
            nn.Linear(2 * width, 64), nn.Tanh(),
        )  # fmt: skip

    def forward(self, n):
        return self.net(torch.randn(n, self.nz))


def critic_step(critic, generator, real, optimizer, clip):
    """The two terms of the loss go backward one after the other. Returns the estimated distance."""
    optimizer.zero_grad()
    score_real = critic(real).mean()
    (-score_real).backward()
    score_fake = critic(generator(len(real)).detach()).mean()
    score_fake.backward()
    optimizer.step()
    for p in critic.parameters():
        p.data.clamp_(-clip, clip)
    return (score_real - score_fake).item()


def main():
    args = options(lr=5e-4, width=64, steps=150)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    images = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1
    generator = Generator(16, args.width)
    critic = nn.Sequential(nn.Linear(64, 2 * args.width), nn.LeakyReLU(0.2), nn.Linear(2 * args.width, 1))
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=args.lr)
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=args.lr)
    rounds = max(2, args.steps // 5)
    for i in range(rounds):
        critic.requires_grad_(True)
        for _ in range(12 if i == 0 else 4):
            real = images[torch.randint(len(images), (64,))]
            distance = critic_step(critic, generator, real, opt_c, clip=0.1)
        critic.requires_grad_(False)
        opt_g.zero_grad()
        (-critic(generator(64)).mean()).backward()
        opt_g.step()
        if i % 10 == 9 or i == 0:
            generator.eval()
            off = (generator(256).mean(0) - images.mean(0)).abs().mean().item()
            generator.train()
            print(f"round {i + 1}: distance {distance:.3f}, mean image off by {off:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
