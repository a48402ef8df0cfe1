"""Denoising of signals with accumulation over four micro-batches and an average of the weights for sampling."""

import argparse
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
ACCUMULATE, LENGTH = 4, 24


class EMA:
    def __init__(self, model, decay=0.97):
        self.decay, self.updates = decay, 0
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for mine, theirs in zip(self.model.parameters(), model.parameters()):
            mine.lerp_(theirs, 1 - self.decay)


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LENGTH + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                 nn.Linear(width, LENGTH))

    def forward(self, noisy, level):
        return self.net(torch.cat([noisy, level[:, None]], dim=1))


def loss_of(model, clean):
    level = torch.rand(len(clean))
    noise = torch.randn_like(clean)
    noisy = (1 - level[:, None]) * clean + level[:, None] * noise
    return nn.functional.mse_loss(model(noisy, level), noise - clean)


def signals(count):
    time = torch.arange(LENGTH) / 3.0
    return torch.sin(time * (1 + torch.rand(count, 1)) + 6.28 * torch.rand(count, 1))


def train(model, ema, optimizer, loader, steps):
    step = micro = 0
    while step < steps:
        for (clean,) in loader:
            loss = loss_of(model, clean) / ACCUMULATE
            loss.backward()
            micro += 1
            if micro % ACCUMULATE == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                ema.update(model)
                step += 1
                if step % 10 == 0:
                    print(f"step {step}: loss {ACCUMULATE * loss.item():.4f}")
                if step == steps:
                    return


torch.manual_seed(args.seed)
torch.set_num_threads(1)
loader = DataLoader(TensorDataset(signals(512)), batch_size=16, shuffle=True)
model = Denoiser()
ema = EMA(model)
train(model, ema, torch.optim.AdamW(model.parameters(), lr=args.lr), loader, args.steps)
apart = sum((a - b).norm().item() for a, b in zip(ema.model.parameters(), model.parameters()))
print(f"EVIDENCE {ema.updates} updates of the average in {args.steps} steps, its distance from the weights is {apart:.4f}")

# SPDX-License-Identifier: Apache-2.0
