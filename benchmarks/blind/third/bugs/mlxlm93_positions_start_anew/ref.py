"""A language model of countings is trained and then continues texts with a cache of keys and values."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, cache=None):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        return self.out(y.transpose(1, 2).reshape(b, t, d)), (k, v)


class Model(nn.Module):
    def __init__(self, vocab=12, dim=32, length=24):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        self.norm, self.attention = nn.LayerNorm(dim), Attention(dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens, cache=None):
        offset = 0 if cache is None else cache[0].shape[2]
        position_ids = torch.arange(offset, offset + tokens.shape[1])
        x = self.wte(tokens) + self.wpe(position_ids)
        attended, cache = self.attention(self.norm(x), cache)
        x = x + attended
        return self.head(x + self.mlp(x)), cache


@torch.no_grad()
def generate(model, prompt, n):
    model.eval()
    logits, cache = model(prompt)
    tokens = [logits[:, -1:].argmax(-1)]
    for _ in range(n - 1):
        logits, cache = model(tokens[-1], cache)
        tokens.append(logits[:, -1:].argmax(-1))
    model.train()
    return torch.cat(tokens, 1)


def texts(n, length=18):
    t = torch.arange(length)
    return (torch.randint(0, 12, (n, 1)) + t + t // 3) % 12


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
for step in range(args.steps):
    x = texts(24)
    logits, _ = model(x[:, :-1])
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), x[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 10 == 0:
        x = texts(16)
        right = (generate(model, x[:, :8], 8) == x[:, 8:16]).float().mean()
print(f"EVIDENCE loss {loss:.3f}, right continuations {right:.2f}")

# Idea from ml-explore/mlx-lm#93
# SPDX-License-Identifier: Apache-2.0
