"""accelerate gathers the gradients of four micro-batches; an action head is trained on synthetic observations."""

import argparse

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()
WINDOW = 4

torch.manual_seed(args.seed)
torch.set_num_threads(1)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=WINDOW)
truth = torch.randn(16, 3)
seen = torch.randn(640, 16)
acted = torch.tanh(seen @ truth / 4) + 0.3 * torch.randn(640, 3)
loader = DataLoader(TensorDataset(seen, acted), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
step, norms = 0, []
while step < args.steps:
    for x, y in loader:
        with accelerator.accumulate(model):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norms.append(accelerator.clip_grad_norm_(model.parameters(), 1.0).item())
            optimizer.step()
        step += 1
        if step % 40 == 0:
            print(f"micro-batch {step}: loss {loss.item():.4f}")
        if step == args.steps:
            break
late = norms[len(norms) // 2:]
print(f"EVIDENCE the norm of the gradient is {sum(late) / len(late):.4f} in the mean over later steps")

# SPDX-License-Identifier: Apache-2.0
