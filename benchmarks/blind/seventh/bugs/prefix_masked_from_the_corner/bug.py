"""A decoder reads a prompt without training on it and then learns the continuation from a cache of the prompt's keys."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.004), ("--steps", int, 140)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
WORDS, PROMPT, REST = 10, 6, 6


class Block(nn.Module):
    def __init__(self, width=32, heads=2):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(x), (k, v)


class Decoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(PROMPT + REST, width)
        self.block, self.head = Block(width), nn.Linear(width, WORDS)

    def forward(self, ids, cache=None):
        start = 0 if cache is None else cache[0].shape[2]
        x, cache = self.block(self.words(ids) + self.places(torch.arange(start, start + ids.shape[1])), cache)
        return self.head(x), cache


def texts(count):
    """The second half repeats the first one backwards."""
    first = torch.randint(WORDS, (count, PROMPT))
    return torch.cat([first, first.flip(1)], dim=1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
train, valid = texts(1500), texts(200)
model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(1, args.steps + 1):
    ids = train[torch.randint(len(train), (48,))]
    _, cache = model(ids[:, :PROMPT - 1])
    logits, _ = model(ids[:, PROMPT - 1:-1], cache)
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, PROMPT:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 35 == 0:
        with torch.no_grad():
            _, cache = model(valid[:, :PROMPT - 1])
            guess = model(valid[:, PROMPT - 1:-1], cache)[0].argmax(-1)
        right = (guess == valid[:, PROMPT:]).float().mean().item()
        print(f"step {step}: loss {loss.item():.4f}, right {right:.3f}")
print(f"EVIDENCE {right:.4f} of the repeated words are right")

# SPDX-License-Identifier: Apache-2.0
