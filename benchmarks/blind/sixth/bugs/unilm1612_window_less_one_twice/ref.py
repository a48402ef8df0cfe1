"""Words repeat the one four places before; a decoder with a sliding window of four words has to copy them."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
WORDS, LENGTH, WINDOW = 12, 24, 4


class WindowAttention(nn.Module):
    """Each word sees itself and the words before it, `window` in all."""

    def __init__(self, width, heads, window):
        super().__init__()
        self.heads, self.back = heads, window - 1
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        distance = torch.arange(length)[:, None] - torch.arange(length)[None]
        mask = (distance >= 0) & (distance <= self.back)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Decoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.places = nn.Embedding(LENGTH, width)
        self.norm = nn.LayerNorm(width)
        self.attention = WindowAttention(width, 4, WINDOW)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 64), nn.GELU(), nn.Linear(64, WORDS))

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(x + self.attention(self.norm(x)))


def texts(count):
    """A word is the one four places before, so the input three places back tells the next word."""
    ids = torch.randint(WORDS, (count, LENGTH + 1))
    for i in range(4, LENGTH + 1):
        ids[:, i] = ids[:, i - 4]
    return ids


def accuracy(model, ids):
    model.eval()
    with torch.no_grad():
        guess = model(ids[:, :-1]).argmax(-1)
    model.train()
    return (guess == ids[:, 1:])[:, 4:].float().mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
train, valid = texts(1500), texts(200)
model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    ids = train[torch.randint(len(train), (32,))]
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step}: loss {loss.item():.4f}, right {accuracy(model, valid):.3f}")
print(f"EVIDENCE {accuracy(model, valid):.4f} of the words are copied")

# SPDX-License-Identifier: Apache-2.0
