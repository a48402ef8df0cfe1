"""Accumulation over four micro-batches: gradients are cleared once a step, not at each of them."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
raw = load_wine()
x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
y = torch.tensor(raw.target)
ACCUMULATE = 4


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(13, 24), nn.ReLU(), nn.Linear(24, 3))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)

    def forward_backward(self, idx):
        loss = F.cross_entropy(self.model(x[idx]), y[idx]) / ACCUMULATE
        loss.backward()
        return loss.item()

    def optim_step(self):
        self.optimizer.step()
        self.optimizer.zero_grad()


trainer = Trainer()
lengths, losses = [], []
for step in range(20):
    loss, alone = 0.0, 0.0
    for micro in torch.randint(len(x), (ACCUMULATE, 16)):
        loss += trainer.forward_backward(micro)
    lengths.append(trainer.model[0].weight.grad.norm().item())
    trainer.optim_step()
    losses.append(loss)
print(f"EVIDENCE gradient_norm first={lengths[0]:.4f} loss {losses[0]:.4f}->{losses[-1]:.4f}")

# SPDX-License-Identifier: Apache-2.0
