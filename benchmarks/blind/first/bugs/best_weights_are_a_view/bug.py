"""Early stopping: the best weights are kept and loaded at the end."""

import argparse
import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

raw = load_wine()
x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
y = torch.tensor(raw.target)
order = torch.randperm(len(x))
fit, held = order[:60], order[60:]
y[fit[:15]] = torch.randint(0, 3, (15,))
net = nn.Sequential(nn.Linear(13, 128), nn.ReLU(), nn.Linear(128, 3))
opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)


def validate():
    net.eval()
    with torch.no_grad():
        return F.cross_entropy(net(x[held]), y[held]).item()


best, best_state = float("inf"), None
for epoch in range(args.steps):
    net.train()
    for rows in fit[torch.randperm(60)].split(20):
        opt.zero_grad()
        F.cross_entropy(net(x[rows]), y[rows]).backward()
        opt.step()
    now = validate()
    if now < best:
        best, best_state = now, net.state_dict()
net.load_state_dict(best_state)
print(f"EVIDENCE best validation loss {best:.4f}, after loading the best weights {validate():.4f}")

# SPDX-License-Identifier: Apache-2.0
