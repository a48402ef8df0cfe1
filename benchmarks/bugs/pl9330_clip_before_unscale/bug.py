"""Mixed precision with clipping: the norm must be that of the unscaled gradients."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

LIMIT = 1.0
torch.manual_seed(0)
torch.set_num_threads(1)
digits = load_digits()
x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
loader = DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
moved, losses = [], []
for epoch in range(2):
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), LIMIT)  # the scaled ones, almost always
        scaler.unscale_(optimizer)
        before = model[0].weight.detach().clone()
        scaler.step(optimizer)
        scaler.update()
        moved.append((model[0].weight - before).norm().item())
        losses.append(loss.item())
print(f"EVIDENCE step_length first={moved[0]:.6f} last={moved[-1]:.6f} loss {losses[0]:.4f}->{losses[-1]:.4f}")

# SPDX-License-Identifier: Apache-2.0
