"""Pre-training with batches that grow by accumulation, rows that grow in length, and a rate that falls to nought at the end."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 20


def rows(n, length, gen):
    ids = torch.randint(0, VOCAB, (n, length + 1), generator=gen)
    for t in range(2, length + 1):
        follow = torch.rand(n, generator=gen) < 0.8
        ids[:, t] = torch.where(follow, (ids[:, t - 1] + 2 * ids[:, t - 2]) % VOCAB, ids[:, t])
    return ids


class LM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(VOCAB, dim), nn.GRU(dim, dim, batch_first=True)
        self.norm, self.out = nn.LayerNorm(dim), nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.out(self.norm(self.rnn(self.embed(ids))[0]))


def rate_factor(step, total, warmup=10, cooldown=0.25):
    if step < warmup:
        return (step + 1) / warmup
    start = int(total * (1 - cooldown))
    return 1.0 if step < start else max(0.0, (total - step) / (total - start))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = LM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: rate_factor(s, args.steps))
    seen = 0
    for step in range(args.steps):
        micro = 1 + min(3, 4 * step // args.steps)
        length = 8 + 4 * min(3, 4 * step // args.steps)
        for _ in range(micro):
            ids = rows(16, length, gen)
            logits = model(ids[:, :-1])
            z = logits.logsumexp(-1).pow(2).mean()
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            ((loss + 1e-4 * z) / micro).backward()
            seen += ids.numel()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        schedule.step()
        if step % 20 == 0:
            print(f"step {step} tokens {seen} loss {loss.item():.4f}")
    print(f"RESULT loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
