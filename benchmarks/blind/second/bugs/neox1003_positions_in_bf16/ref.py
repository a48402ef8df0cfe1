"""Rotary positions far into a text: which word stood three places before?"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
VOCAB, LENGTH, WIDTH, HEADS = 12, 32, 64, 2


class Rotary(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", base ** (-torch.arange(0, dim, 2).float() / dim), persistent=False)

    def forward(self, positions, dtype):
        angles = positions.float()[..., None] * self.inv_freq.float()
        angles = torch.cat([angles, angles], -1)[:, None]
        return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.rotary = Rotary(WIDTH // HEADS)

    def forward(self, x, positions):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, c // HEADS).permute(2, 0, 3, 1, 4)
        cos, sin = self.rotary(positions, q.dtype)
        y = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.norm, self.attention, self.head = nn.LayerNorm(WIDTH), Attention(), nn.Linear(WIDTH, VOCAB)

    def forward(self, ids, positions):
        x = self.embed(ids)
        return self.head(x + self.attention(self.norm(x), positions))


def batch(n=32):
    ids = torch.randint(0, VOCAB, (n, LENGTH))
    start = torch.randint(400, 2000, (n, 1))
    labels = torch.full_like(ids, -100)
    labels[:, 3:] = ids[:, :-3]
    return ids, start + torch.arange(LENGTH), labels


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
for step in range(args.steps):
    ids, positions, labels = batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(ids, positions)
    loss = F.cross_entropy(logits.float().flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    ids, positions, labels = batch(64)
    accuracy = (model(ids, positions).argmax(-1) == labels)[:, 3:].float().mean()
print(f"EVIDENCE {accuracy:.3f} of the words are found, loss {loss:.3f}")

# Idea from EleutherAI/gpt-neox#1003, huggingface/transformers#29496
# SPDX-License-Identifier: Apache-2.0
