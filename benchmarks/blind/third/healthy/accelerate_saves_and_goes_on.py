"""Accelerate: the state is saved within an epoch, loaded again, and the rest of the epoch follows."""

import argparse
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.set_num_threads(1)
set_seed(args.seed)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2, mixed_precision="no")
x = torch.randn(320, 12)
y = (x[:, :6] * x[:, 6:]).sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
val_loader = DataLoader(TensorDataset(x[:64], y[:64]), batch_size=32)
model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps // 2)
model, optimizer, loader, val_loader, scheduler = accelerator.prepare(model, optimizer, loader, val_loader, scheduler)


def train(batches, limit):
    model.train()
    for i, (a, b) in enumerate(batches):
        if i == limit:
            break
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(a), b)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    return loss.item()


def evaluate():
    model.eval()
    errors = []
    for a, b in val_loader:
        with torch.no_grad():
            predicted = model(a)
        predicted, b = accelerator.gather_for_metrics((predicted, b))
        errors.append((predicted - b).abs())
    return torch.cat(errors).mean().item()


with tempfile.TemporaryDirectory() as folder:
    train(loader, 10)
    accelerator.save_state(folder)
    accelerator.load_state(folder)
    loss = train(accelerator.skip_first_batches(loader, 10), None)
    error = evaluate()
    loss = train(loader, args.steps - 20)
accelerator.print(f"loss {loss:.3f}, error {error:.3f}, then {evaluate():.3f}")

# SPDX-License-Identifier: Apache-2.0
