"""A small transformer is pretrained, then fine-tuned on another task by low-rank updates of its projections."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
WORDS, LENGTH, WIDTH, HEADS = 12, 8, 32, 4


class LoRALayer(nn.Module):
    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.A = nn.Parameter(torch.empty(linear.in_features, rank))
        self.B = nn.Parameter(torch.zeros(rank, linear.out_features))
        nn.init.kaiming_uniform_(self.A, a=5 ** 0.5)
        self.scaling = alpha / rank

    def forward(self, x):
        return self.linear(x) + self.scaling * (x @ self.A @ self.B)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(mixed.transpose(1, 2).flatten(2))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(WORDS, WIDTH), nn.Parameter(0.1 * torch.randn(LENGTH, WIDTH))
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, words):
        return self.head(self.blocks(self.embed(words) + self.place).mean(1))


def batch(first, second):
    words = torch.randint(WORDS, (64, LENGTH))
    return words, ((words == first).sum(1) > (words == second).sum(1)).long()


def train(model, optimizer, steps, first, second):
    for step in range(steps):
        words, label = batch(first, second)
        loss = nn.functional.cross_entropy(model(words), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            print(f"step {step}: loss {loss.item():.4f}")


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Model()
train(model, torch.optim.AdamW(model.parameters(), lr=3e-3), 60, 1, 2)
model.requires_grad_(False)
for block in model.blocks:
    block.qkv = LoRALayer(block.qkv, rank=8, alpha=16)
    block.out = LoRALayer(block.out, rank=8, alpha=16)
trainable = [p for p in model.parameters() if p.requires_grad]
train(model, torch.optim.AdamW(trainable, lr=args.lr), args.steps, 3, 4)
layer = model.blocks[0].qkv
x = torch.randn(100, WIDTH)
ratio = (layer(x) - layer.linear(x)).norm() / (x @ layer.A @ layer.B).norm()
print(f"EVIDENCE updates are multiplied by {ratio.item():.3f}; trained are {sum(p.numel() for p in trainable)} numbers")

# SPDX-License-Identifier: Apache-2.0
