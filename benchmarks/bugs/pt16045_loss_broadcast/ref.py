"""Regression with a column of predictions and a row of targets: the loss broadcasts, and the model learns the mean."""

import warnings

import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", message="Using a target size")
torch.manual_seed(0)
torch.set_num_threads(1)
raw = load_diabetes()
x = torch.tensor(raw.data * 20, dtype=torch.float32)
y = torch.tensor((raw.target - raw.target.mean()) / raw.target.std(), dtype=torch.float32)
loader = DataLoader(TensorDataset(x, y), batch_size=34, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for features, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(features), target.unsqueeze(1))
        loss.backward()
        optimizer.step()
with torch.no_grad():
    predicted = model(x).squeeze(1)
correlation = torch.corrcoef(torch.stack([predicted, y]))[0, 1].item()
print(f"EVIDENCE correlation={correlation:.4f} spread={predicted.std().item():.4f} loss={loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
