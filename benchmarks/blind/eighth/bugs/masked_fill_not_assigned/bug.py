"""A small GPT on texts of a made-up grammar."""

import argparse
import math

import torch
import torch.nn as nn
from torch.nn import functional as F

block_size, vocab_size, n_embd, n_head, n_layer = 24, 8, 32, 4, 2


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(n_embd, dim=2)
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention()
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList([Block() for _ in range(n_layer)])
        self.ln_f, self.lm_head = nn.LayerNorm(n_embd), nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, vocab_size), targets.reshape(-1))
        return logits, loss


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=7e-3)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
follows = torch.stack([torch.randperm(vocab_size)[:3] for _ in range(vocab_size * vocab_size)])
data = [0, 1]
choices = torch.randint(3, (20000,)).tolist()
for c in choices:
    data.append(follows[data[-2] * vocab_size + data[-1], c].item())
data = torch.tensor(data)
train_data, val_data = data[:18000], data[18000:]


def get_batch(split):
    source = train_data if split == "train" else val_data
    ix = torch.randint(len(source) - block_size - 1, (24,))
    return (torch.stack([source[i + d:i + d + block_size] for i in ix]) for d in (0, 1))


@torch.no_grad()
def allowed(model):
    """The share of words written by the model that the grammar allows."""
    model.eval()
    idx = torch.stack([val_data[i:i + 4] for i in range(0, 400, 4)])
    good = 0.0
    for _ in range(12):
        last = F.softmax(model(idx)[0][:, -1], dim=-1)
        idx = torch.cat([idx, torch.multinomial(last, 1)], 1)
        good += (follows[idx[:, -3] * vocab_size + idx[:, -2]] == idx[:, -1:]).any(1).float().mean().item() / 12
    model.train()
    return good


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.01)
for it in range(1, args.steps + 1):
    X, Y = get_batch("train")
    logits, loss = model(X, Y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 50 == 0:
        with torch.no_grad():
            val = model(*get_batch("val"))[1].item()
        print(f"iter {it}: train {loss.item():.4f}, val {val:.4f}")
print(f"EVIDENCE loss {loss.item():.4f} where log 3 is possible, {allowed(model):.3f} of the words written are allowed")

# SPDX-License-Identifier: Apache-2.0
