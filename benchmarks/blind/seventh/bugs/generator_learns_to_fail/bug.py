"""Generator and discriminator on points of a shifted normal distribution."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


def network(inputs, outputs, width=32):
    return nn.Sequential(nn.Linear(inputs, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
                         nn.Linear(width, outputs))


class Trainer:
    def __init__(self):
        self.generator, self.critic = network(4, 2), network(2, 1)
        self.steps = [torch.optim.Adam(m.parameters(), lr=args.lr, betas=(0.5, 0.99)) for m in (self.generator, self.critic)]

    def real(self, count):
        return torch.randn(count, 2) * torch.tensor([1.0, 0.3]) + torch.tensor([2.0, -1.0])

    def critic_step(self):
        fake = self.generator(torch.randn(64, 4)).detach()
        yes, no = self.critic(self.real(64)), self.critic(fake)
        loss = F.binary_cross_entropy_with_logits(yes, torch.ones_like(yes)) \
            + F.binary_cross_entropy_with_logits(no, torch.zeros_like(no))
        self.steps[1].zero_grad()
        loss.backward()
        self.steps[1].step()
        return loss.item()

    def generator_step(self):
        answer = self.critic(self.generator(torch.randn(64, 4)))
        loss = F.binary_cross_entropy_with_logits(answer, torch.zeros_like(answer))
        self.steps[0].zero_grad()
        loss.backward()
        self.steps[0].step()
        return loss.item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
trainer = Trainer()
for step in range(1, args.steps + 1):
    critic, generator = trainer.critic_step(), trainer.generator_step()
    if step % 50 == 0:
        with torch.no_grad():
            gap = (trainer.generator(torch.randn(1000, 4)).mean(0) - torch.tensor([2.0, -1.0])).norm().item()
        print(f"step {step}: critic {critic:.4f}, generator {generator:.4f}, means differ by {gap:.4f}")
print(f"EVIDENCE the means of real and made points differ by {gap:.4f}")

# SPDX-License-Identifier: Apache-2.0
