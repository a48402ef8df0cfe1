# Character-level pretraining with gradient accumulation and a warmup + cosine schedule.
import argparse
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

SUBJECTS = ["the cat", "a dog", "my friend", "the old man", "her sister"]
VERBS = ["sees", "finds", "likes", "follows", "draws"]
OBJECTS = ["a red ball", "the blue house", "some bread", "a small boat", "the long road"]
ENDINGS = ["today", "at night", "again", "in the rain"]


def make_text(rng, sentences):
    parts = []
    for _ in range(sentences):
        parts.append(f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)} {rng.choice(ENDINGS)}. ")
    return "".join(parts)


class CharData:
    def __init__(self, text, block):
        self.chars = sorted(set(text))
        index = {c: i for i, c in enumerate(self.chars)}
        self.data = torch.tensor([index[c] for c in text])
        cut = int(0.9 * len(self.data))
        self.train, self.val = self.data[:cut], self.data[cut:]
        self.block = block

    def get_batch(self, split, size, gen):
        source = self.train if split == "train" else self.val
        start = torch.randint(len(source) - self.block - 1, (size,), generator=gen)
        x = torch.stack([source[s : s + self.block] for s in start])
        y = torch.stack([source[s + 1 : s + 1 + self.block] for s in start])
        return x, y


class CharLSTM(nn.Module):
    def __init__(self, vocab, dim=96):
        super().__init__()
        self.embed = nn.Embedding(vocab, 32)
        self.rnn = nn.GRU(32, dim, num_layers=1, batch_first=True)
        self.drop = nn.Dropout(0.05)
        self.head = nn.Linear(dim, vocab)

    def forward(self, x, targets=None):
        h, _ = self.rnn(self.embed(x))
        logits = self.head(self.drop(h))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))
        return logits, loss


class WarmupCosine:
    """lr(t) for t optimizer updates out of `total`, after `warmup` updates of linear warmup."""

    def __init__(self, optimizer, peak, warmup, total, floor=0.0):
        self.optimizer, self.peak = optimizer, peak
        self.warmup, self.total, self.floor = warmup, total, floor
        self.t = 0
        self._apply()

    def lr(self):
        if self.t < self.warmup:
            return self.peak * (self.t + 1) / self.warmup
        progress = min(1.0, (self.t - self.warmup) / max(1, self.total - self.warmup))
        return self.floor + 0.5 * (self.peak - self.floor) * (1 + math.cos(math.pi * progress))

    def _apply(self):
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr()

    def step(self):
        self.t += 1
        self._apply()


@torch.no_grad()
def estimate_loss(model, data, gen, batches=6):
    model.eval()
    total = 0.0
    for _ in range(batches):
        x, y = data.get_batch("val", 16, gen)
        total += model(x, y)[1].item()
    model.train()
    return total / batches


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--micro_batch", type=int, default=8)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    data = CharData(make_text(rng, 400), block=48)
    model = CharLSTM(len(data.chars))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    schedule = WarmupCosine(optimizer, args.lr, warmup=max(1, args.steps // 10), total=args.steps)

    model.train()
    for it in range(args.steps):
        running = 0.0
        for micro in range(args.accum):
            x, y = data.get_batch("train", args.micro_batch, gen)
            _, loss = model(x, y)
            (loss / args.accum).backward()
            running += loss.item() / args.accum
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        schedule.step()
        if it % 10 == 0 or it == args.steps - 1:
            print(f"iter {it}: train loss {running:.4f}")
    print(f"EVIDENCE val_loss={estimate_loss(model, data, gen):.4f}")


if __name__ == "__main__":
    main()
