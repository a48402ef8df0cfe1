"""A classifier in mixed precision with a scaled loss, clipped gradients and a schedule."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
MAX_NORM = 1.0


def blobs(n, centres):
    labels = torch.randint(len(centres), (n,))
    return TensorDataset(centres[labels] + torch.randn(n, centres.size(1)), labels)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = total = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum().item()
        total += len(y)
    return right / total


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(5, 16)
train_loader = DataLoader(blobs(512, centres), batch_size=32, shuffle=True)
val_loader = DataLoader(blobs(256, centres), batch_size=64)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
norms = []
for epoch in range(args.steps // len(train_loader)):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        norms.append(norm.item())
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {evaluate(model, val_loader):.3f}")
print(f"EVIDENCE mean norm before clipping {sum(norms) / len(norms):.3f}, last loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
