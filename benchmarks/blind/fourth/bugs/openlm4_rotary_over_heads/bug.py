"""A small causal transformer with rotary positions learns to repeat what stood a fixed way back."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
WORDS, LENGTH, WIDTH, HEADS, BACK = 12, 20, 32, 4, 3


class Rotary(nn.Module):
    """Turns the last dimension by angles that grow along the one before it."""

    def __init__(self, size, base=1000.0):
        super().__init__()
        self.register_buffer("speed", base ** (-torch.arange(0, size, 2) / size), persistent=False)

    def forward(self, x):
        angle = torch.arange(x.size(-2))[:, None] * self.speed
        cos, sin = angle.cos(), angle.sin()
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.cat([even * cos - odd * sin, even * sin + odd * cos], -1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)
        self.rotary = Rotary(WIDTH // HEADS)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (part.view(b, t, HEADS, -1) for part in self.qkv(self.first(x)).chunk(3, -1))
        q, k = self.rotary(q), self.rotary(k)
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, -1))
        return x + self.mlp(self.second(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.blocks = nn.Embedding(WORDS, WIDTH), nn.Sequential(Block(), Block())
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS))

    def forward(self, words):
        return self.head(self.blocks(self.embed(words)))


def batch(n):
    words = torch.randint(WORDS, (n, LENGTH))
    return words, words.roll(BACK, 1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
for step in range(args.steps):
    words, target = batch(32)
    loss = nn.functional.cross_entropy(model(words)[:, BACK:].flatten(0, 1), target[:, BACK:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.3f}")
model.eval()
with torch.no_grad():
    words, target = batch(128)
    right = (model(words).argmax(-1) == target)[:, BACK:].float().mean()
print(f"EVIDENCE loss {loss.item():.4f}, {right:.3f} right")

# SPDX-License-Identifier: Apache-2.0
