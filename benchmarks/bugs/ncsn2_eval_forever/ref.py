"""Denoising score matching that looks at a test batch now and then, and must go back to training mode."""

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(0)
torch.set_num_threads(1)
images = torch.tensor(load_digits().data, dtype=torch.float32) / 16
train_set, test_set = images[:1500], images[1500:]


class Score(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, 64))

    def forward(self, x):
        return self.body(x)


def dsm_loss(model, x, sigma=0.3):
    noise = torch.randn_like(x) * sigma
    target = -noise / sigma**2
    return 0.5 * ((model(x + noise) - target) ** 2).sum(dim=-1).mean() * sigma**2


model = Score()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
model.train()
modes = 0
for step in range(30):
    loss = dsm_loss(model, train_set[torch.randint(1500, (64,))])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    modes += model.training
    if step % 10 == 9:
        model.eval()
        with torch.no_grad():
            test_loss = dsm_loss(model, test_set)
        model.train()
print(f"EVIDENCE steps_in_training_mode={modes} of 30 loss={loss.item():.4f} test={test_loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
