"""A backbone freezes its first stages in `train`; who never calls it trains them."""

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, frozen_stages):
        super().__init__()
        self.frozen_stages = frozen_stages
        self.stages = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU()) for _ in range(3))

    def train(self, mode=True):
        super().train(mode)
        for stage in self.stages[: self.frozen_stages]:
            stage.eval()
            stage.requires_grad_(False)
        return self

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return x


torch.manual_seed(0)
torch.set_num_threads(1)
backbone, head = Backbone(frozen_stages=2), nn.Linear(16, 4)
start = backbone.stages[0][0].weight.detach().clone()
optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.05, momentum=0.9)
for step in range(40):
    x = torch.randn(64, 16)
    loss = nn.functional.cross_entropy(head(backbone(x)), x[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
moved = (backbone.stages[0][0].weight - start).abs().max()
print(f"EVIDENCE the first stage, which is to be frozen, moved by {moved:.5f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
