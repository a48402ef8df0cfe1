"""Pretraining with a batch ramp, warmup-stable-decay schedule, skipped spikes and an averaged model for evaluation.

The batch grows by accumulating 1, 2, then 4 micro-batches; an update whose gradient norm is far above the recent
median is dropped (with its data); a part of the rows is damaged on purpose to show why.
"""
import argparse
import copy
import statistics

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ = 26, 30


class LM(nn.Module):
    def __init__(self, dim=72):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.drop = nn.Dropout(0.1)
        # the output weights are the embedding weights
        self.bias = nn.Parameter(torch.zeros(VOCAB))

    def forward(self, ids):
        h, _ = self.rnn(self.drop(self.embed(ids)))
        return F.linear(self.drop(h), self.embed.weight, self.bias) / h.size(-1) ** 0.5 * 4

    def loss(self, ids):
        return F.cross_entropy(self(ids[:, :-1]).transpose(1, 2), ids[:, 1:])


def micro_batch(gen, size=12, damaged=False):
    if damaged:
        return torch.randint(VOCAB, (size, 1), generator=gen).expand(size, SEQ + 1).contiguous()
    a = torch.randint(VOCAB, (size, 1), generator=gen)
    d = torch.randint(1, 5, (size, 1), generator=gen)
    return (a + d * torch.arange(SEQ + 1)) % VOCAB


def accumulation(step, steps):
    return 1 if step < steps // 4 else 2 if step < steps // 2 else 4


def wsd(step, steps, peak):
    warm, decay = max(1, steps // 10), max(1, steps // 4)
    if step < warm:
        return peak * step / warm
    if step < steps - decay:
        return peak
    return peak * (steps - step) / decay


@torch.no_grad()
def update_average(average, model, decay=0.95):
    for a, p in zip(average.parameters(), model.parameters()):
        a.lerp_(p, 1 - decay)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=8e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = LM()
    average = copy.deepcopy(model).requires_grad_(False).eval()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.01)
    norms, skipped = [], 0
    for step in range(args.steps):
        for group in opt.param_groups:
            group["lr"] = wsd(step, args.steps, args.lr)
        n = accumulation(step, args.steps)
        value = 0.0
        for _ in range(n):
            bad = step > 20 and torch.rand((), generator=gen) < 0.03
            loss = model.loss(micro_batch(gen, damaged=bool(bad))) / n
            loss.backward()
            value += loss.item()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
        if len(norms) >= 10 and norm > 4 * statistics.median(norms[-30:]):
            skipped += 1
        else:
            opt.step()
            norms.append(norm)
            update_average(average, model)
        opt.zero_grad()
        if step % 20 == 0:
            print(f"step {step} loss {value:.4f} micro-batches {n} lr {opt.param_groups[0]['lr']:.2e}")
    with torch.no_grad():
        val = average.loss(micro_batch(gen, 128)).item()
    print(f"skipped {skipped} updates")
    print(f"EVIDENCE averaged_val_loss={val:.4f}")


if __name__ == "__main__":
    main()
