"""Spectral norm: its vectors are set by forwards in training mode; an evaluation before the first one is of other weights."""

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.utils.spectral_norm(nn.Linear(16, 32), n_power_iterations=5), nn.ReLU(), nn.Linear(32, 2))
held = torch.randn(64, 16)
with torch.no_grad():
    net.train()(held)
    net.eval()
    first = net[0](held).norm()
    norm = torch.linalg.matrix_norm(net[0].weight, 2)
net.train()
optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
for step in range(40):
    x = torch.randn(64, 16)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"EVIDENCE the norm at the first evaluation is {norm:.4f} where 1 is right, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
