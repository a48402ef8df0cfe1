"""Packed knitting patterns: document mask and labels are derived from positions that restart."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

STITCHES, CONTEXT = 16, 48


class PatternLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.stitch, self.place = nn.Embedding(STITCHES, dim), nn.Embedding(CONTEXT, dim)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.head = nn.Linear(dim, STITCHES)

    def forward(self, ids, position_ids):
        docs = (position_ids == 0).cumsum(1)
        n = ids.size(1)
        blocked = (docs[:, :, None] != docs[:, None, :]) | torch.ones(n, n, dtype=torch.bool).triu(1)
        x = self.stitch(ids) + self.place(position_ids)
        h = self.norm1(x)
        x = x + self.attn(h, h, h, attn_mask=blocked.repeat_interleave(4, 0), need_weights=False)[0]
        x = x + self.ff(self.norm2(x))
        return self.head(x)


def pack(gen):
    ids, pos = [], []
    while len(ids) < CONTEXT:
        n = int(torch.randint(5, 12, (1,), generator=gen))
        first, step = torch.randint(STITCHES, (2,), generator=gen).tolist()
        ids += [step] + [(first + step * i) % STITCHES for i in range(n)]
        pos += range(n + 1)
    return torch.tensor(ids[:CONTEXT]), torch.tensor(pos[:CONTEXT])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = PatternLM()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        ids, pos = map(torch.stack, zip(*(pack(gen) for _ in range(16))))
        labels = ids[:, 1:].masked_fill(pos[:, 1:] == 0, -100)  # no pattern foretells the next one
        logits = model(ids, pos)[:, :-1]
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
