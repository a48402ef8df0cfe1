"""Denoising (masked-token) pre-training of a small bidirectional encoder, then a linear probe."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 22
MASK = VOCAB
LENGTH = 16
CLASSES = 4


class Encoder(nn.Module):
    def __init__(self, dim=64, layers=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB + 1, dim)
        self.pos = nn.Parameter(torch.randn(LENGTH, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True,
                                           norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, VOCAB)

    def features(self, ids):
        return self.body(self.tok(ids) + self.pos)

    def forward(self, ids):
        return self.head(self.features(ids))


def make_sequences(n, gen):
    """Each class cycles through its own stretch of the vocabulary."""
    label = torch.randint(0, CLASSES, (n,), generator=gen)
    start = torch.randint(0, VOCAB, (n, 1), generator=gen)
    ids = 5 * label[:, None] + (start + torch.arange(LENGTH)) % 7
    noise = torch.rand(n, LENGTH, generator=gen) < 0.05
    ids = torch.where(noise, torch.randint(0, VOCAB, (n, LENGTH), generator=gen), ids)
    return ids, label


def mask_tokens(ids, gen, rate=0.2):
    hide = torch.rand(ids.shape, generator=gen) < rate
    labels = ids.masked_fill(~hide, -100)
    return ids.masked_fill(hide, MASK), labels


def build_scheduler(optimizer, steps, warmup, floor):
    def factor(step):
        if step < warmup:
            return 0.1 + 0.9 * step / warmup
        progress = min(1.0, (step - warmup) / (steps - warmup))
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * progress))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def probe(encoder, gen, steps=40):
    encoder.eval()
    with torch.no_grad():
        x, y = make_sequences(512, gen)
        feats = encoder.features(x).mean(1)
        xt, yt = make_sequences(512, gen)
        test = encoder.features(xt).mean(1)
    clf = nn.Linear(feats.size(1), CLASSES)
    opt = torch.optim.Adam(clf.parameters(), lr=5e-2)
    for _ in range(steps):
        loss = F.cross_entropy(clf(feats), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (clf(test).argmax(-1) == yt).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--batch", type=int, default=48)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 5)

    encoder = Encoder()
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = build_scheduler(optimizer, args.steps, warmup=max(1, args.steps // 10), floor=0.05)
    for step in range(args.steps):
        ids, _ = make_sequences(args.batch, gen)
        noisy, labels = mask_tokens(ids, gen)
        loss = F.cross_entropy(encoder(noisy).flatten(0, 1), labels.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.5f}")

    acc = probe(encoder, gen)
    print(f"EVIDENCE mlm_loss={loss.item():.4f} probe_acc={acc:.4f}")


if __name__ == "__main__":
    main()
