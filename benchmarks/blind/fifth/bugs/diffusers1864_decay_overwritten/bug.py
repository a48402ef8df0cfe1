"""A denoiser of points is trained with a moving average whose decay grows with the step."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


class MovingAverage:
    """Parameters averaged over the steps; the first ones are forgotten soon."""

    def __init__(self, model, decay=0.99):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.decay, self.updates = decay, 0

    def decay_now(self):
        return min(self.decay, (1 + self.updates) / (10 + self.updates))

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        self.decay = decay = self.decay_now()
        for average, weight in zip(self.model.parameters(), model.parameters()):
            average.mul_(decay).add_(weight, alpha=1 - decay)


def noised(count):
    corner = torch.randint(0, 2, (count, 2)).float() * 2 - 1
    level = torch.rand(count, 1)
    noise = torch.randn(count, 2)
    clean = corner + 0.1 * torch.randn(count, 2)
    return torch.cat([(1 - level) * clean + level * noise, level], 1), noise


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))
average = MovingAverage(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
held_out = noised(2000)
for step in range(args.steps):
    x, noise = noised(32)
    loss = nn.functional.mse_loss(model(x), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(model)
    if step % 40 == 39:
        with torch.no_grad():
            error = nn.functional.mse_loss(average.model(held_out[0]), held_out[1])
        print(f"step {step}: loss {loss.item():.3f}, of the average {error.item():.3f}")
apart = sum((a - w).detach().square().sum() for a, w in zip(average.model.parameters(), model.parameters())).sqrt()
print(f"EVIDENCE the last decay is {average.decay_now():.3f}, the average is {apart:.3f} away from the weights")

# SPDX-License-Identifier: Apache-2.0
