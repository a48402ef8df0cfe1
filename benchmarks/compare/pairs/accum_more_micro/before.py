"""Income classification on a synthetic census table, with gradient accumulation and clipping."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score

MICRO_BATCH = 128
ACCUMULATE = 2


def census(seed, n=6000):
    world, rng = np.random.default_rng(11), np.random.default_rng(seed)
    job, town = rng.integers(12, size=n), rng.integers(20, size=n)
    age, hours = rng.uniform(18, 80, n), rng.normal(38, 9, n)
    school = rng.integers(6, 20, size=n)
    score = (world.normal(0, 1, 12)[job] + world.normal(0, 0.7, 20)[town] + 0.25 * (school - 12)
             + 0.06 * (hours - 38) - 0.002 * (age - 48) ** 2 + 0.6)
    label = rng.random(n) < 1 / (1 + np.exp(-score))
    num = np.stack([age, hours, school, np.log(age)], 1)
    return (torch.tensor(job), torch.tensor(town), torch.tensor(num, dtype=torch.float32),
            torch.tensor(label, dtype=torch.float32))


class Scaler:
    def __init__(self, num):
        self.mean, self.std = num.mean(0), num.std(0)

    def __call__(self, num):
        return (num - self.mean) / self.std


class CensusNet(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.job, self.town = nn.Embedding(12, 6), nn.Embedding(20, 6)
        self.net = nn.Sequential(nn.Linear(16, hidden), nn.LayerNorm(hidden), nn.GELU(),
                                 nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, job, town, num):
        return self.net(torch.cat([self.job(job), self.town(town), num], 1)).squeeze(1)


class EpochSampler:
    """Endless stream of shuffled row numbers."""

    def __init__(self, n, seed):
        self.n, self.gen, self.queue = n, torch.Generator().manual_seed(seed), torch.empty(0, dtype=torch.long)

    def take(self, k):
        while len(self.queue) < k:
            self.queue = torch.cat([self.queue, torch.randperm(self.n, generator=self.gen)])
        out, self.queue = self.queue[:k], self.queue[k:]
        return out


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    job, town, num, label = census(args.seed)
    n_train = 4800
    num = Scaler(num[:n_train])(num)
    model = CensusNet()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.02)
    warmup = 10
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min(1.0, (s + 1) / warmup) * max(0.0, 1 - s / (2 * args.steps)))
    sampler = EpochSampler(n_train, args.seed)
    for step in range(1, args.steps + 1):
        for _ in range(2):
            opt.zero_grad()
            running = 0.0
            for _ in range(ACCUMULATE):
                i = sampler.take(MICRO_BATCH)
                loss = F.binary_cross_entropy_with_logits(model(job[i], town[i], num[i]), label[i]) / ACCUMULATE
                loss.backward()
                running += loss.item()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
        if step % 20 == 0:
            print(f"step {step:4d} loss {running:.4f} lr {sched.get_last_lr()[0]:.2e}")
    with torch.no_grad():
        logit = model(job[n_train:], town[n_train:], num[n_train:])
    y = label[n_train:]
    print(f"EVIDENCE test_auc={roc_auc_score(y.numpy(), logit.numpy()):.4f} "
          f"test_bce={F.binary_cross_entropy_with_logits(logit, y).item():.4f}")


if __name__ == "__main__":
    main()
