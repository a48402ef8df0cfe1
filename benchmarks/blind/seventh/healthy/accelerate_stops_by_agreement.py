"""Accelerate with accumulation by hand and an end by agreement."""

import argparse
import contextlib

import torch
from accelerate import Accelerator
from accelerate.tracking import GeneralTracker, on_main_process
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
WINDOW = 3


class Lines(GeneralTracker):
    name, requires_logging_directory = "lines", False

    def __init__(self):
        super().__init__()
        self.lines = []

    @property
    def tracker(self):
        return self.lines

    @on_main_process
    def log(self, values, step=None, **rest):
        self.lines.append((step, values))


torch.manual_seed(args.seed)
torch.set_num_threads(1)
accelerator = Accelerator(cpu=True, log_with=Lines())
accelerator.init_trackers("regression")
x = torch.randn(900, 8)
y = x[:, 0].sin() + x[:, 1] * x[:, 2] / 2 + 0.1 * torch.randn(900)
train = DataLoader(TensorDataset(x[:700], y[:700]), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(x[700:], y[700:]), batch_size=50)
model = nn.Sequential(nn.Linear(8, 48), nn.SiLU(), nn.Linear(48, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, args.steps, power=2.0)
model, optimizer, train, valid, schedule = accelerator.prepare(model, optimizer, train, valid, schedule)
step, last, over = 0, float("inf"), False
while step < args.steps and not over:
    model.train()
    window = []
    for batch in train:
        window.append(batch)
        if len(window) < WINDOW:
            continue
        count = sum(len(target) for _, target in window)
        for k, (inputs, target) in enumerate(window):
            quiet = accelerator.no_sync(model) if k + 1 < WINDOW else contextlib.nullcontext()
            with quiet:
                loss = nn.functional.mse_loss(model(inputs).squeeze(1), target, reduction="sum") / count
                accelerator.backward(loss)
        norm = accelerator.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        window, step = [], step + 1
        accelerator.log({"norm": float(norm)}, step=step)
    model.eval()
    errors = []
    for inputs, target in valid:
        with torch.no_grad():
            guess = model(inputs).squeeze(1)
        guess, target = accelerator.gather_for_metrics((guess, target))
        errors.append((guess - target).square())
    error = torch.cat(errors).mean().item()
    accelerator.print(f"step {step}: error {error:.4f}, {len(accelerator.get_tracker('lines', unwrap=True))} lines")
    if error > 1.3 * last:
        accelerator.set_trigger()
    over, last = accelerator.check_trigger(), min(error, last)
weights = accelerator.unwrap_model(model).state_dict()
accelerator.end_training()
print(f"{len(weights)} tensors")

# SPDX-License-Identifier: Apache-2.0
