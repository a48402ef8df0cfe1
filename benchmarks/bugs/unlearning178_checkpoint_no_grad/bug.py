"""Adapters inside checkpointed blocks on a frozen embedding: a checkpoint whose input needs no gradient gives none."""

import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

warnings.filterwarnings("ignore")
torch.manual_seed(0)
torch.set_num_threads(1)


class LoraLinear(nn.Module):
    def __init__(self, dim, rank=4):
        super().__init__()
        self.base = nn.Linear(dim, dim)
        self.base.requires_grad_(False)
        self.lora_a, self.lora_b = nn.Linear(dim, rank, bias=False), nn.Linear(rank, dim, bias=False)

    def forward(self, x):
        return self.base(x) + self.lora_b(self.lora_a(x))


class Model(nn.Module):
    def __init__(self, vocab=32, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.embed.requires_grad_(False)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), LoraLinear(dim), nn.GELU()) for _ in range(2))
        self.score = nn.Linear(dim, 4)

    def enable_input_require_grads(self):
        self.embed.register_forward_hook(lambda module, inputs, output: output.requires_grad_(True))

    def forward(self, ids):
        h = self.embed(ids)
        for block in self.blocks:
            h = h + checkpoint(block, h, use_reentrant=True)
        return self.score(h.mean(1))


model = Model()
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=5e-3, weight_decay=0.0)
before = [p.detach().clone() for p in trainable]
model.train()
losses = []
for step in range(24):
    ids = torch.randint(0, 32, (16, 10))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(ids), ids.sum(1) % 4)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
moved = sum((p - b).abs().max().item() > 0 for p, b in zip(trainable, before))
print(f"EVIDENCE parameters_that_moved={moved} of {len(trainable)} loss {losses[0]:.4f}->{losses[-1]:.4f}")

# SPDX-License-Identifier: Apache-2.0
