"""Detection and identity from one trunk; the weights of both losses are learned."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(14, 48), nn.ReLU())
        self.box, self.identity = nn.Linear(48, 4), nn.Linear(48, 10)

    def forward(self, x):
        h = self.trunk(x)
        return self.box(h), self.identity(h)


class MotLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.s_det = nn.Parameter(-1.85 * torch.ones(1))
        self.s_id = nn.Parameter(-1.05 * torch.ones(1))

    def forward(self, output, box, identity):
        det_loss = nn.functional.l1_loss(output[0], box)
        id_loss = nn.functional.cross_entropy(output[1], identity)
        loss = torch.exp(-self.s_det) * det_loss + torch.exp(-self.s_id) * id_loss + (self.s_det + self.s_id)
        return 0.5 * loss.squeeze(), det_loss.detach(), id_loss.detach()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model, criterion = Net(), MotLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
look = torch.randn(10, 10)
for step in range(args.steps):
    identity = torch.randint(0, 10, (32,))
    box = torch.rand(32, 4)
    x = torch.cat([look[identity] + 0.3 * torch.randn(32, 10), box + 0.05 * torch.randn(32, 4)], 1)
    loss, det_loss, id_loss = criterion(model(x), box, identity)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE weights of the tasks {criterion.s_det.item():.3f} and {criterion.s_id.item():.3f}, losses {det_loss:.3f} and {id_loss:.3f}")

# Idea from ifzhang/FairMOT#19
# SPDX-License-Identifier: Apache-2.0
