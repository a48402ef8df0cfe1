"""Subtitle model: filler batches, whose labels are all -100, are left out of the training."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

VOCAB, WIDTH = 25, 16


class SubtitleLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 32)
        self.rnn = nn.GRU(32, 48, batch_first=True)
        self.head = nn.Linear(48, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def stream(gen, steps):
    """Now and then the sharded reader has no rows left and hands out a batch of padding."""
    for step in range(steps):
        if step % 9 == 8:
            yield torch.zeros(32, WIDTH, dtype=torch.long), torch.full((32, WIDTH), -100)
            continue
        ids = torch.randint(1, VOCAB, (32, 1), generator=gen)
        for _ in range(WIDTH - 1):
            ids = torch.cat([ids, 1 + (ids[:, -1:] * 7 + 2) % (VOCAB - 1)], 1)
        lengths = torch.randint(6, WIDTH + 1, (32, 1), generator=gen)
        mask = torch.arange(WIDTH)[None] < lengths
        yield ids * mask, ids.masked_fill(~mask, -100)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = SubtitleLM()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    skipped = 0
    for step, (ids, labels) in enumerate(stream(gen, args.steps)):
        if (labels[:, 1:] == -100).all():
            skipped += 1
            continue
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"skipped {skipped} last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
