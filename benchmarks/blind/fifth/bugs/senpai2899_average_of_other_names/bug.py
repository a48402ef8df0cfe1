"""A compiled model is trained; a moving average of its parameters, by name, is evaluated."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()


class Average:
    def __init__(self, model, decay=0.95):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for name, parameter in model.named_parameters():
            if name in self.shadow:
                self.shadow[name].lerp_(parameter, 1 - self.decay)


class Net(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(10, width), nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, x):
        x = torch.nn.functional.silu(self.first(x))
        return self.last(torch.nn.functional.silu(self.second(x))).squeeze(-1)


def samples(count):
    x = torch.randn(count, 10)
    return x, (x[:, 0] * x[:, 1]).tanh() + x[:, 2]


torch.manual_seed(args.seed)
torch.set_num_threads(1)
net = Net()
average = Average(net)
compiled = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.AdamW(compiled.parameters(), lr=args.lr)
held_x, held_y = samples(1000)


def evaluate():
    with torch.no_grad():
        output = torch.func.functional_call(net, average.shadow, (held_x,))
    return nn.functional.mse_loss(output, held_y).item()


errors = []
for step in range(args.steps):
    x, y = samples(64)
    loss = nn.functional.mse_loss(compiled(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(compiled)
    if step % 20 == 19:
        errors.append(evaluate())
        print(f"step {step}: loss {loss.item():.4f}, of the average {errors[-1]:.4f}")
print(f"EVIDENCE the average's error went from {errors[0]:.4f} to {errors[-1]:.4f}")

# SPDX-License-Identifier: Apache-2.0
