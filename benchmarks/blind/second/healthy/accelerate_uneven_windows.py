"""accelerate accumulates; it steps early at the end of the loader, clips then only, and its schedule counts steps."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=56)
args = parser.parse_args()
set_seed(args.seed)
torch.set_num_threads(1)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4, step_scheduler_with_optimizer=True)
x = torch.randn(416, 8)
data = TensorDataset(x, x[:, :2].prod(1, keepdim=True))
model = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 1))
decay = [p for p in model.parameters() if p.ndim > 1]
rest = [p for p in model.parameters() if p.ndim <= 1]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=args.lr)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 4))
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, DataLoader(data, 32, shuffle=True), scheduler)


def evaluate():
    model.eval()
    with torch.inference_mode():
        error = nn.functional.mse_loss(model(data.tensors[0]), data.tensors[1])
    model.train()
    return error.item()


seen = 0
while seen < args.steps:
    for inputs, target in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(inputs), target)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        seen += 1
        if seen == args.steps:
            break
    print(f"after {seen}: error {evaluate():.4f}, rate {scheduler.get_last_lr()[0]:.4f}")

# SPDX-License-Identifier: Apache-2.0
