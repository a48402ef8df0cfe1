"""A causal language model with learned biases for buckets of distances instead of positions."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
WORDS, LENGTH, WIDTH, HEADS, BUCKETS, BACK = 10, 20, 32, 4, 8, 3


class RelativeBias(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(BUCKETS, HEADS)

    def buckets(self, length):
        query, key = torch.arange(length)[:, None], torch.arange(length)[None, :]
        distance = (query - key).clamp(min=0)
        return distance.clamp(max=BUCKETS - 1)

    def forward(self, length):
        return self.table(self.buckets(length)).permute(2, 0, 1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.bias = nn.Embedding(WORDS, WIDTH), RelativeBias()
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WORDS))

    def forward(self, words):
        x, length = self.embed(words), words.shape[1]
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        bias = self.bias(length).masked_fill(future, float("-inf"))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias.unsqueeze(0))
        return self.head(x + self.out(mixed.transpose(1, 2).flatten(2)))


def batch(count):
    words = torch.randint(WORDS, (count, LENGTH))
    for place in range(BACK, LENGTH):
        copied = torch.rand(count) < 0.9
        words[:, place] = torch.where(copied, (words[:, place - BACK] + 1) % WORDS, words[:, place])
    return words


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    words = batch(32)
    logits = model(words[:, :-1])
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), words[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.3f}")
last_row = model.bias.buckets(LENGTH)[-1].tolist()
print(f"EVIDENCE the last word sees buckets {last_row}; loss {loss.item():.3f}")

# SPDX-License-Identifier: Apache-2.0
