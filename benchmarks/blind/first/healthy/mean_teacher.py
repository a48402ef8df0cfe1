"""A teacher that is an average of its student, warmed up, in training mode; consistency starts later."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
def build():
    return nn.Sequential(nn.Linear(8, 40), nn.ReLU(), nn.Dropout(0.1), nn.Linear(40, 3))


student, teacher = build(), build()
teacher.load_state_dict(student.state_dict())
for p in teacher.parameters():
    p.detach_()
optimizer = torch.optim.Adam(student.parameters(), lr=args.lr)
for step in range(args.steps):
    labelled, free = torch.randn(16, 8), torch.randn(64, 8)
    loss = nn.functional.cross_entropy(student(labelled), labelled[:, :3].argmax(1))
    if step > args.steps // 4:
        goal = teacher(free + 0.1 * torch.randn_like(free)).softmax(1)
        answer = student(free + 0.1 * torch.randn_like(free)).softmax(1)
        loss = loss + min(1.0, step / args.steps) * nn.functional.mse_loss(answer, goal.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    decay = min(0.99, 1 - 1 / (step + 1))
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.data.mul_(decay).add_(s.data, alpha=1 - decay)
print(f"loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
