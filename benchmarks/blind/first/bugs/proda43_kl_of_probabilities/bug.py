"""Self distillation of a classifier of points: the student follows the soft answers of an earlier stage."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

points = torch.randn(1500, 8)
classes = (points[:, :4].sum(1) > 0).long() + (points[:, 4] > 0.5).long()
teacher = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 3))
student = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 3))
opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for i in range(80):
    idx = torch.randint(len(points), (128,))
    opt.zero_grad()
    F.cross_entropy(teacher(points[idx]), classes[idx]).backward()
    opt.step()
teacher.requires_grad_(False).eval()

opt = torch.optim.Adam(student.parameters(), lr=args.lr)
for i in range(args.steps):
    idx = torch.randint(len(points), (128,))
    with torch.no_grad():
        soft = F.softmax(teacher(points[idx]), dim=1)
    answer = F.softmax(student(points[idx]), dim=1)
    loss = F.kl_div(answer, soft, reduction="none").sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
student.eval()
with torch.no_grad():
    gap = (F.softmax(student(points), 1) - F.softmax(teacher(points), 1)).abs().mean()
print(f"EVIDENCE the student's probabilities are {gap:.4f} from the teacher's, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
