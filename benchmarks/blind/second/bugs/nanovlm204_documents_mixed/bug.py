"""Short documents are packed into rows; each is to be read by itself."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
VOCAB, ROW, WIDTH, HEADS = 24, 48, 48, 4


def document():
    """A key, then words that follow from their predecessor by a step that the key gives."""
    step, n = int(torch.randint(1, 6, ())), int(torch.randint(6, 14, ()))
    first = int(torch.randint(0, VOCAB - 6, ()))
    body = (first + step * torch.arange(n)) % (VOCAB - 6)
    return torch.cat([torch.tensor([VOCAB - step]), body])


def pack(rows):
    ids = torch.zeros(rows, ROW, dtype=torch.long)
    numbers = torch.zeros(rows, ROW, dtype=torch.long)
    positions = torch.zeros(rows, ROW, dtype=torch.long)
    for row in range(rows):
        at = number = 0
        while at < ROW:
            piece = document()[: ROW - at]
            end = at + len(piece)
            ids[row, at:end], numbers[row, at:end] = piece, number
            positions[row, at:end] = torch.arange(len(piece))
            at, number = end, number + 1
    return ids, numbers, positions


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, HEADS, c // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.place = nn.Embedding(VOCAB, WIDTH), nn.Embedding(ROW, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, ids, numbers, positions):
        causal = torch.ones(ROW, ROW, dtype=torch.bool).tril()
        mask = causal.expand(len(ids), -1, -1)
        x = self.word(ids) + self.place(positions)
        for block in self.blocks:
            x = block(x, mask[:, None])
        return self.head(x)


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    ids, numbers, positions = pack(12)
    logits = model(ids, numbers, positions)
    labels = torch.where(numbers[:, 1:] == numbers[:, :-1], ids[:, 1:], -100)
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels.flatten(), ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with torch.no_grad():
    ids, numbers, positions = pack(4)
    other = torch.where(numbers == 0, (ids + 1) % VOCAB, ids)
    change = (model(ids, numbers, positions) - model(other, numbers, positions)).abs()[numbers == 1].max()
print(f"EVIDENCE the second document's logits move by {change:.4f} with the first; loss {loss:.3f}")

# Idea from huggingface/nanoVLM#204, huggingface/transformers#25452
# SPDX-License-Identifier: Apache-2.0
