"""Predict whether a customer renews from a mixed table of numbers and categories."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score

CARDS = [12, 5, 31]


def make_table(n, rng):
    cats = np.stack([rng.integers(0, c, size=n) for c in CARDS], axis=1)
    nums = rng.normal(size=(n, 6)) * np.array([1.0, 3.0, 0.5, 10.0, 1.0, 2.0]) + 4.0
    effects = [rng.normal(size=c) for c in CARDS]
    score = sum(e[cats[:, i]] for i, e in enumerate(effects))
    score = score + 0.9 * (nums[:, 0] - 4.0) * np.sign(nums[:, 2] - 4.0) - 0.4 * (nums[:, 1] - 4.0)
    y = (score + rng.logistic(size=n) * 0.5 > 0).astype(np.float32)
    return cats, nums.astype(np.float32), y


class TabNet(nn.Module):
    def __init__(self, n_num, emb=6, hidden=64):
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(c, emb) for c in CARDS])
        self.num_proj = nn.Linear(n_num, hidden)
        self.cat_proj = nn.Linear(emb * len(CARDS), hidden)
        self.norm = nn.LayerNorm(hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, cats, nums):
        e = torch.cat([emb(cats[:, i]) for i, emb in enumerate(self.embeds)], dim=1)
        h = self.norm(self.num_proj(nums) + self.cat_proj(e))
        h = h + F.silu(self.mid(F.silu(h)))
        return self.out(h).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()

    rng = np.random.default_rng(args.seed)
    torch.manual_seed(args.seed)
    cats, nums, y = make_table(4000, rng)
    cut = 3200
    mu, sd = nums[:cut].mean(0), nums[:cut].std(0)
    nums = (nums - mu) / sd
    cats, nums, y = torch.from_numpy(cats), torch.from_numpy(nums), torch.from_numpy(y)

    model = TabNet(nums.shape[1])
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    model.train()
    for step in range(args.steps):
        idx = torch.from_numpy(rng.choice(cut, size=256, replace=False))
        logits = model(cats[idx], nums[idx])
        loss = F.binary_cross_entropy_with_logits(logits, y[idx])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step:3d} loss {loss.item():.6f}")

    model.eval()
    with torch.no_grad():
        p = torch.sigmoid(model(cats[cut:], nums[cut:]))
    print(f"EVIDENCE auc={roc_auc_score(y[cut:].numpy(), p.numpy()):.4f}")


if __name__ == "__main__":
    main()
