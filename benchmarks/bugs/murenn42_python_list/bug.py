"""Branches kept in a list: autograd reaches them, parameters() does not."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer

torch.manual_seed(0)
torch.set_num_threads(1)
raw = load_breast_cancer()
x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
y = torch.tensor(raw.target)


class Branches(nn.Module):
    """Three groups of features, one branch each."""

    def __init__(self, width=12):
        super().__init__()
        self.branches = [nn.Linear(10, width) for _ in range(3)]
        self.merge = nn.Linear(3 * width, 2)

    def forward(self, x):
        parts = [torch.relu(branch(part)) for branch, part in zip(self.branches, x.chunk(3, dim=1))]
        return self.merge(torch.cat(parts, dim=1))


model = Branches()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
before = model.branches[0].weight.detach().clone()
for epoch in range(3):
    for idx in torch.randperm(len(x)).split(57):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
change = (model.branches[0].weight - before).abs().max().item()
print(f"EVIDENCE parameters={sum(1 for _ in model.parameters())} branch_change={change:.6f} loss={loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
