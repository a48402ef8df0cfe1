"""Transfer learning on a frozen backbone: requires_grad=False does not hold the statistics of its norms."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
y = torch.tensor(digits.target)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 12, 3), nn.BatchNorm2d(12), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten())
        self.head = nn.Linear(108, 10)

    def forward(self, x):
        return self.head(self.backbone(x))


model = Net()
for p in model.backbone.parameters():
    p.requires_grad = False
statistics = model.backbone[1].running_mean.clone()
optimizer = torch.optim.Adam(model.head.parameters(), lr=0.01)
for epoch in range(3):
    model.train()
    model.backbone.eval()
    for idx in torch.randperm(1400).split(140):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x[1400:]).argmax(1) == y[1400:]).float().mean().item()
drift = (model.backbone[1].running_mean - statistics).abs().max().item()
print(f"EVIDENCE statistics_drift={drift:.6f} accuracy={accuracy:.4f} loss={loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
