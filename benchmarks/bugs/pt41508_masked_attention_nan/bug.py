"""Attention over padded sequences: a row without any key to look at is not a number, and so is every gradient."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
PAD = 0


class Classifier(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.Embedding(20, dim, padding_idx=PAD)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm, self.out = nn.LayerNorm(dim), nn.Linear(dim, 3)

    def forward(self, ids):
        padding = ids == PAD
        x = self.embed(ids)
        a, _ = self.attn(x, x, x, key_padding_mask=padding)
        return self.out(self.norm(x + a).mean(1))


def batch(step):
    ids = torch.randint(1, 20, (16, 8))
    lengths = torch.randint(2, 9, (16,))
    if step == 12:
        lengths[3] = 0
    return ids.masked_fill(torch.arange(8) >= lengths[:, None], PAD), ids[:, 0] % 3


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
finite = 0
for step in range(24):
    ids, labels = batch(step)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(ids), labels)
    loss.backward()
    optimizer.step()
    finite += bool(torch.isfinite(loss))
print(f"EVIDENCE finite_losses={finite} of 24 loss={loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
