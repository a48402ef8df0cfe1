"""Training that is interrupted: a schedule that is not restored starts from its warm-up again."""

import io

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
X = torch.randn(640, 12)
Y = (X[:, :3].sum(1) > 0).long()


def build():
    model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / 8, (32 - s) / 24))
    return model, optimizer, scheduler


def train(model, optimizer, scheduler, steps):
    used = []
    for step in range(steps):
        idx = torch.randint(640, (32,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(X[idx]), Y[idx])
        loss.backward()
        used.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return used


model, optimizer, scheduler = build()
first = train(model, optimizer, scheduler, 16)
file = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, file)

file.seek(0)
state = torch.load(file)
model, optimizer, scheduler = build()
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
second = train(model, optimizer, scheduler, 12)
print(f"EVIDENCE lr before={first[-1]:.4f} resumed={second[0]:.4f},{second[1]:.4f} last={second[-1]:.4f}")

# SPDX-License-Identifier: Apache-2.0
