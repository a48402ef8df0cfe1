"""A vision tower, a connector and a head are tuned together, the tower with half the rate."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(2)
torch.set_num_threads(1)
digits = load_digits()
images = torch.tensor(digits.images[:640], dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target[:640])


class VisionTower(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(1, width, 2, stride=2)
        self.norm = nn.LayerNorm(width)
        self.layer = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.0, batch_first=True)

    @torch.no_grad()
    def forward(self, image):
        tokens = self.conv(image).flatten(2).transpose(1, 2)
        return self.layer(self.norm(tokens))


class Assistant(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.vision_tower = VisionTower(width)
        self.connector = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, 32))
        self.head = nn.Linear(32, 10)

    def forward(self, image):
        return self.head(self.connector(self.vision_tower(image)).mean(1))


model = Assistant()
rest = [*model.connector.parameters(), *model.head.parameters()]
groups = [{"params": model.vision_tower.parameters(), "lr": 2e-3}, {"params": rest}]
optimizer = torch.optim.AdamW(groups, lr=4e-3)
before = model.vision_tower.conv.weight.detach().clone()
for epoch in range(6):
    for batch in torch.randperm(len(images)).split(64):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
moved = (model.vision_tower.conv.weight - before).abs().max()
print(f"EVIDENCE the vision tower moved by {moved:.4f}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
