"""Quantisation-aware training with a validation every eight steps."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Observed(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.register_buffer("max_val", torch.tensor(0.0))

    def forward(self, x):
        if self.training:
            self.max_val.copy_(torch.maximum(self.max_val, x.detach().abs().max()))
        scale = max(self.max_val.item(), 1e-3) / 127
        return self.layer(torch.fake_quantize_per_tensor_affine(x, scale, 0, -127, 127))


def batch(n, spread=1.0):
    x = spread * torch.randn(n, 10)
    return x, torch.stack([x[:, :5].sum(1), x[:, 5:].sum(1)], 1)


@torch.no_grad()
def validate(model):
    model.eval()
    x, y = batch(64, spread=4.0)
    loss = nn.functional.l1_loss(model(x), y)
    model.train()
    return loss.item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = nn.Sequential(Observed(nn.Linear(10, 32)), nn.ReLU(), Observed(nn.Linear(32, 2)))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x, y = batch(32)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 8 == 0:
        score = validate(model)
print(f"EVIDENCE range {model[0].max_val:.2f}, loss {loss:.3f}, validation {score:.3f}")

# Idea from Lightning-AI/pytorch-lightning#8540
# SPDX-License-Identifier: Apache-2.0
