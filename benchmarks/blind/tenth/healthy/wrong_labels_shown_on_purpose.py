"""A conditional adversarial network whose critic also sees real samples with wrong labels, which it is to reject."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=400)
args = parser.parse_args()
CLASSES, NOISE = 5, 4


class Conditional(nn.Module):
    def __init__(self, inputs, outputs, width=48):
        super().__init__()
        self.label = nn.Embedding(CLASSES, 8)
        self.body = nn.Sequential(nn.Linear(inputs + 8, width), nn.LeakyReLU(0.2), nn.Linear(width, width),
                                  nn.LeakyReLU(0.2), nn.Linear(width, outputs))

    def forward(self, x, labels):
        return self.body(torch.cat([x, self.label(labels)], dim=1))


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    angle = 6.28 * torch.arange(CLASSES) / CLASSES
    centres = 1.5 * torch.stack([angle.cos(), angle.sin()], dim=1)
    generator, critic = Conditional(NOISE, 2), Conditional(2, 1)
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.5, 0.9))
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.5, 0.9))
    ones, noughts = torch.ones(64, 1), torch.zeros(64, 1)
    loss_of = nn.functional.binary_cross_entropy_with_logits
    strength, rested = 0.0, 0
    for step in range(args.steps):
        labels = torch.randint(CLASSES, (64,))
        real = centres[labels] + 0.2 * torch.randn(64, 2)
        wrong = (labels + torch.randint(1, CLASSES, (64,))) % CLASSES
        # fakes are drawn for the labels of the real samples in even steps, for labels of their own in odd ones
        wanted = labels if step % 2 == 0 else torch.randint(CLASSES, (64,))
        fake = generator(torch.randn(64, NOISE), wanted)
        critic_loss = (0.9 * loss_of(critic(real, labels), ones) + 0.1 * loss_of(critic(real, labels), noughts)
                       + 0.5 * loss_of(critic(fake.detach(), wanted), noughts) + 0.5 * loss_of(critic(real, wrong), noughts))
        strength = 0.9 * strength + 0.1 * critic_loss.item()
        if step < 20 or strength > 0.8:
            critic_optimizer.zero_grad()
            critic_loss.backward()
            critic_optimizer.step()
        else:
            rested += 1
        critic.requires_grad_(False)
        generator_loss = loss_of(critic(fake, wanted), ones)
        generator_optimizer.zero_grad()
        generator_loss.backward()
        generator_optimizer.step()
        critic.requires_grad_(True)
        if step % 100 == 0:
            print(f"step {step}: critic {critic_loss.item():.4f}, generator {generator_loss.item():.4f}, rested {rested}")
    with torch.no_grad():
        means = torch.stack([generator(torch.randn(200, NOISE), torch.full((200,), c)).mean(0) for c in range(CLASSES)])
    print(f"distance of the classes' means {(means - centres).norm(dim=1).mean().item():.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
