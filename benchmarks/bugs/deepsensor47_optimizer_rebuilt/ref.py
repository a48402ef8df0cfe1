"""A small regressor with a trainer of its own; Adam's moments are to last from epoch to epoch."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
torch.set_num_threads(1)
points = torch.rand(256, 2) * 6 - 3
values = torch.sin(points[:, :1]) * torch.cos(points[:, 1:])


class Regressor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.body(x)


class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.optimizer = self.build()

    def build(self):
        return torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def run_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.loader:
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.loader)


trainer = Trainer(Regressor(), DataLoader(TensorDataset(points, values), batch_size=32, shuffle=True))
for epoch in range(6):
    loss = trainer.run_epoch()
counted = {int(state["step"]) for state in trainer.optimizer.state.values()}
print(f"EVIDENCE Adam counts {counted} steps, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
