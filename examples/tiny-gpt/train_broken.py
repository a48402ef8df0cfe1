"""Train a character-level GPT on a file of Python's own library."""

import argparse
import textwrap

import torch
import torch.nn.functional as F
from torch import nn

CONTEXT, BATCH = 32, 16


class Block(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.heads, self.qkv, self.proj = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.dropout = nn.Dropout(dropout)

    def attend(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.dropout(self.attend(self.ln1(x)))
        return x + self.dropout(self.mlp(self.ln2(x)))


class GPT(nn.Module):
    def __init__(self, vocab, dim=48, layers=2, heads=4, dropout=0.1):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, dim), nn.Embedding(CONTEXT, dim)
        self.blocks = nn.Sequential(*[Block(dim, heads, dropout) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.05)
        nn.init.normal_(self.positions.weight, std=0.05)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def batch(data):
    """BATCH windows of CONTEXT characters, and the same moved on by one."""
    starts = torch.randint(len(data) - CONTEXT, (BATCH,)).tolist()
    windows = torch.stack([data[i : i + CONTEXT + 1] for i in starts])
    return windows[:, :-1], windows[:, 1:]


def loss_of(model, data):
    x, y = batch(data)
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


@torch.no_grad()
def evaluate(model, data):
    """The mean loss of four batches, without dropout."""
    model.eval()
    loss = sum(loss_of(model, data).item() for _ in range(4)) / 4
    return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    with open(textwrap.__file__) as f:
        text = f.read()
    chars = sorted(set(text))
    data = torch.tensor([chars.index(c) for c in text])
    train_data, test_data = data.split([len(data) - 2000, 2000])

    model = GPT(len(chars))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    for step in range(args.steps):
        optimizer.zero_grad()
        loss = loss_of(model, train_data)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm_up.step()
        if step % 20 == 19:
            test = evaluate(model, test_data)
            print(f"step {step + 1}: loss {loss.item():.3f}, test {test:.3f}", flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
