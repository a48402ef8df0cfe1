"""Training stops in the middle and goes on from a checkpoint with a schedule of warm-up and decay by steps."""

import argparse
import os
import tempfile

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
PER_EPOCH = 5


def schedule(step, warmup=8):
    return (step + 1) / warmup if step < warmup else max(0.05, 1 - (step - warmup) / args.steps)


def build(last_epoch=-1, state=None):
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    if state:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    return model, optimizer, LambdaLR(optimizer, schedule, last_epoch=last_epoch)


def train(model, optimizer, scheduler, steps, rates):
    for _ in range(steps):
        x = torch.randn(32, 8)
        loss = nn.functional.mse_loss(model(x), x.prod(1, keepdim=True).tanh() + x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
    return loss.item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
rates = []
model, optimizer, scheduler = build()
train(model, optimizer, scheduler, args.steps // 2, rates)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "global_step": args.steps // 2,
                "epoch": args.steps // 2 // PER_EPOCH}, path)
    state = torch.load(path)
model, optimizer, scheduler = build(state["global_step"] - 1, state)
loss = train(model, optimizer, scheduler, args.steps // 2, rates)
half = args.steps // 2
print(f"EVIDENCE rate {rates[half - 1]:.5f} before and {rates[half]:.5f} after the checkpoint, loss {loss:.3f}")

# Idea from vllm-project/speculators#900
# SPDX-License-Identifier: Apache-2.0
