"""Training for eight bits: observers first, rounding from a third on, frozen ranges and norms towards the end."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()


class Rounding(nn.Module):
    """Values are observed, later rounded; the gradient passes where nothing is cut."""

    def __init__(self, levels=255):
        super().__init__()
        self.levels, self.observing, self.rounding = levels, True, False
        self.register_buffer("low", torch.tensor(0.0))
        self.register_buffer("high", torch.tensor(0.0))

    def forward(self, x):
        if self.observing and self.training:
            low, high = x.detach().aminmax()
            share = 0.1 if self.high > self.low else 1.0
            self.low.lerp_(low.clamp(max=0), share)
            self.high.lerp_(high.clamp(min=0), share)
        if not self.rounding:
            return x
        scale = (self.high - self.low) / self.levels
        inside = x.clamp(self.low.item(), self.high.item())
        return inside + ((inside / scale).round() * scale - inside).detach()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv1d(1, 12, 5)
        self.norm = nn.BatchNorm1d(12)
        self.after, self.before_head = Rounding(), Rounding(levels=63)
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        hidden = self.after(self.norm(self.convolution(x)).relu())
        return self.head(self.before_head(hidden.mean(-1)))


def set_all(model, **flags):
    for module in model.modules():
        if isinstance(module, Rounding):
            for name, value in flags.items():
                setattr(module, name, value)


def waves(count):
    kind = torch.randint(3, (count,))
    time = torch.arange(40) / 4.0
    return (torch.sin(time * (1 + 0.7 * kind[:, None]) + torch.rand(count, 1)) + 0.5 * torch.randn(count, 40))[:, None], kind


@torch.no_grad()
def right(model, x, y):
    was = model.training
    model.eval()
    share = (model(x).argmax(1) == y).float().mean().item()
    model.train(was)
    return share


torch.manual_seed(args.seed)
torch.set_num_threads(1)
valid = waves(150)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    if step == args.steps // 3:
        set_all(model, rounding=True)
    if step == args.steps // 2:
        set_all(model, observing=False)
    if step >= 2 * args.steps // 3:
        model.norm.eval()
    x, y = waves(32)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        rounded = right(model, *valid)
        state = [m.rounding for m in model.modules() if isinstance(m, Rounding)]
        set_all(model, rounding=False)
        print(f"step {step + 1}: loss {loss.item():.4f}, right {rounded:.3f}, without rounding {right(model, *valid):.3f}")
        set_all(model, rounding=state[0])

# SPDX-License-Identifier: Apache-2.0
