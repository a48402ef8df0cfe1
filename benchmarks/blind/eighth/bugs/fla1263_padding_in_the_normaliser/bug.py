"""Linear attention over sentences of unequal length: is there more of one word than of the other?"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class LinearAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask):
        b, n, d = x.shape
        q, k, v = (t.view(b, n, self.heads, d // self.heads).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        q, k = F.elu(q) + 1, F.elu(k) + 1
        keep = mask[:, None, :, None].to(x.dtype)
        v = v * keep
        context = torch.einsum("bhnd,bhne->bhde", k, v)
        normaliser = torch.einsum("bhnd,bhd->bhn", q, k.sum(dim=2))
        y = torch.einsum("bhnd,bhde->bhne", q, context) / (normaliser[..., None] + 1e-6)
        return self.out(y.transpose(1, 2).reshape(b, n, d))


class Reader(nn.Module):
    def __init__(self, words=20, dim=32):
        super().__init__()
        self.embed = nn.Embedding(words, dim)
        self.attention, self.norm = LinearAttention(dim, 4), nn.LayerNorm(dim)
        self.feed = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.head = nn.Linear(dim, 1)

    def forward(self, ids, mask):
        x = self.embed(ids)
        x = x + self.attention(x, mask)
        x = x + self.feed(self.norm(x))
        return self.head(x[:, 0]).squeeze(1)


def collate(rows, length=None):
    length = length or max(len(r) for r in rows)
    ids, mask = torch.zeros(len(rows), length, dtype=torch.long), torch.zeros(len(rows), length, dtype=torch.bool)
    for i, row in enumerate(rows):
        ids[i, :len(row)], mask[i, :len(row)] = row, True
    return ids, mask


def sentences(count):
    rows, shares = [], []
    for _ in range(count):
        row = torch.randint(2, 20, (int(torch.randint(4, 30, ())),))
        row[0] = 1
        rows.append(row)
        shares.append((row[1:] < 8).float().mean())
    return rows, torch.stack(shares)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.004)
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Reader()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        rows, shares = sentences(32)
        ids, mask = collate(rows)
        loss = F.mse_loss(model(ids, mask), shares)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.5f}")
    model.eval()
    rows, shares = sentences(200)
    with torch.no_grad():
        usual, wide = model(*collate(rows)), model(*collate(rows, length=60))
    print(f"EVIDENCE error {F.mse_loss(usual, shares).item():.5f}; more padding changes answers by "
          f"{(usual - wide).abs().mean().item():.5f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
