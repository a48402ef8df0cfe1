"""Words are masked anew for each batch, eight of ten by a sign, one by another word; decoder tied to the embedding with a bias of its own."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
VOCAB, MASK, PAD, LENGTH, WIDTH = 30, 29, 0, 16, 32


def texts(n):
    start, step = torch.randint(1, 28, (n, 1)), torch.randint(1, 3, (n, 1))
    ids = (start + step * torch.arange(LENGTH)) % 28 + 1
    lengths = torch.randint(8, LENGTH + 1, (n, 1))
    return torch.where(torch.arange(LENGTH) < lengths, ids, PAD)


def corrupt(ids):
    chosen = (torch.rand(ids.shape) < 0.2) & (ids != PAD)
    labels = torch.where(chosen, ids, -100)
    how = torch.rand(ids.shape)
    ids = torch.where(chosen & (how < 0.8), MASK, ids)
    ids = torch.where(chosen & (how >= 0.9), torch.randint(1, MASK, ids.shape), ids)
    return ids, labels


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH, padding_idx=PAD)
        self.place = nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, 0.1, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.transform = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU())
        self.bias = nn.Parameter(torch.zeros(VOCAB))

    def forward(self, ids, labels):
        x = self.embed(ids) + self.place.weight
        x = self.transform(self.body(x, src_key_padding_mask=ids == PAD))
        asked = labels != -100
        return F.cross_entropy(F.linear(x[asked], self.embed.weight, self.bias), labels[asked])


model, data = Model(), texts(600)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [
    torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 8),
    torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, args.steps - 8)], [8])
for step in range(args.steps):
    loss = model(*corrupt(data[torch.randint(0, 600, (48,))]))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
print(f"loss {loss.item():.3f}")

# SPDX-License-Identifier: Apache-2.0
