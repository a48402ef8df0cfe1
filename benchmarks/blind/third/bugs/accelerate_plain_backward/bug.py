"""A forecast of two steps ahead under accelerate, with accumulation over four micro-batches."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 12, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten())
        self.out = nn.Linear(48, 2)

    def forward(self, x):
        return self.out(self.conv(x))


def windows(n=512):
    t = torch.arange(22) * 0.4 + 6.28 * torch.rand(n, 1)
    wave = torch.sin(t) + 0.1 * torch.randn(n, 22)
    return TensorDataset(wave[:, None, :20], wave[:, 20:])


set_seed(args.seed)
torch.set_num_threads(1)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
model = Forecaster()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(windows(), batch_size=8, shuffle=True))
norms, losses = [], []
for i, (x, y) in enumerate(loader):
    if i == args.steps:
        break
    with accelerator.accumulate(model):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        if accelerator.sync_gradients:
            norms.append(float(accelerator.clip_grad_norm_(model.parameters(), 10.0)))
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
print(f"EVIDENCE norm of the first gradient {norms[0]:.4f}, loss {losses[0]:.3f} to {losses[-1]:.3f}")

# SPDX-License-Identifier: Apache-2.0
