"""A conditional adversarial network draws points of the class that it is told."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=500)
args = parser.parse_args()
CLASSES, NOISE = 4, 4


class Conditional(nn.Module):
    def __init__(self, inputs, outputs, width=48):
        super().__init__()
        self.label = nn.Embedding(CLASSES, 8)
        self.body = nn.Sequential(nn.Linear(inputs + 8, width), nn.LeakyReLU(0.2), nn.Linear(width, width),
                                  nn.LeakyReLU(0.2), nn.Linear(width, outputs))

    def forward(self, x, labels):
        return self.body(torch.cat([x, self.label(labels)], dim=1))


def real_batch(centres, count):
    labels = torch.randint(CLASSES, (count,))
    return centres[labels] + 0.2 * torch.randn(count, 2), labels


def hinge(real, fake):
    return torch.relu(1 - real).mean() + torch.relu(1 + fake).mean()


def distance(generator, centres):
    """How far the mean of what is drawn for a class is from that class."""
    with torch.no_grad():
        means = [generator(torch.randn(200, NOISE), torch.full((200,), c)).mean(0) for c in range(CLASSES)]
    return (torch.stack(means) - centres).norm(dim=1).mean().item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    centres = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]) * 1.5
    generator, critic = Conditional(NOISE, 2), Conditional(2, 1)
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.5, 0.9))
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.5, 0.9))
    for step in range(args.steps):
        real, labels = real_batch(centres, 64)
        wanted = torch.randint(CLASSES, (64,))
        fake = generator(torch.randn(64, NOISE), wanted)

        critic_loss = hinge(critic(real, labels), critic(fake.detach(), labels))
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()

        generator_loss = -critic(fake, labels).mean()
        generator_optimizer.zero_grad()
        generator_loss.backward()
        generator_optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: critic {critic_loss.item():.4f}, generator {generator_loss.item():.4f}")
    print(f"EVIDENCE distance of the classes' means {distance(generator, centres):.4f}, critic {critic_loss.item():.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
