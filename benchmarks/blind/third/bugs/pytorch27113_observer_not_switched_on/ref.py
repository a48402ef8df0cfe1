"""Quantisation-aware training: observers watch ranges in the first half, then they are frozen."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class FakeQuantize(nn.Module):
    def __init__(self, bits=8):
        super().__init__()
        self.quant_max = 2 ** bits - 1
        self.observer_enabled = False
        self.register_buffer("min_val", torch.tensor(-1.0))
        self.register_buffer("max_val", torch.tensor(1.0))

    def enable_observer(self, enabled=True):
        self.observer_enabled = enabled

    def disable_observer(self):
        return self.enable_observer(False)

    def forward(self, x):
        if self.observer_enabled:
            self.min_val.lerp_(x.detach().min(), 0.1)
            self.max_val.lerp_(x.detach().max(), 0.1)
        scale = (self.max_val - self.min_val).item() / self.quant_max
        zero_point = round(-self.min_val.item() / scale)
        return torch.fake_quantize_per_tensor_affine(x, scale, max(0, min(zero_point, self.quant_max)), 0, self.quant_max)


def enable_observers(module):
    if isinstance(module, FakeQuantize):
        module.enable_observer()


def disable_observers(module):
    if isinstance(module, FakeQuantize):
        module.disable_observer()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(FakeQuantize(), nn.Linear(8, 32), nn.ReLU(), FakeQuantize(), nn.Linear(32, 1))
model.apply(enable_observers)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    if step == args.steps // 2:
        model.apply(disable_observers)
    x = 3 * torch.randn(32, 8)
    y = x[:, :4].sum(1, keepdim=True) - x[:, 4:].abs().sum(1, keepdim=True)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE range of the input {model[0].min_val:.2f} to {model[0].max_val:.2f}, loss {loss:.3f}")

# Idea from pytorch/pytorch#27113
# SPDX-License-Identifier: Apache-2.0
