"""Class-conditional diffusion on 2-D blobs: self-conditioning, label dropout, loss-aware timesteps, spike rollback."""
import argparse
import copy
import math
import random
from collections import deque
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F

T, N_CLASS = 50, 4
BETAS = torch.linspace(1e-3, 0.15, T)
AB = torch.cumprod(1 - BETAS, 0)


def make_data(n, gen):
    y = torch.randint(0, N_CLASS, (n,), generator=gen)
    ang = math.pi / 4 + y * (2 * math.pi / N_CLASS)
    r = 1.5 + 0.1 * torch.randn(n, generator=gen)
    a = ang + 0.3 * torch.randn(n, generator=gen)
    return torch.stack([r * a.cos(), r * a.sin()], 1), y


class Denoiser(nn.Module):
    """Predicts x0 from x_t, the previous x0 estimate (zeros when absent), time and label (N_CLASS = dropped)."""

    def __init__(self, h=96):
        super().__init__()
        self.label, self.time = nn.Embedding(N_CLASS + 1, h), nn.Embedding(T, h)
        self.inp = nn.Linear(4, h)
        self.mid = nn.ModuleList([nn.Sequential(nn.LayerNorm(h), nn.Linear(h, h), nn.SiLU()) for _ in range(3)])
        self.out = nn.Linear(h, 2)
        nn.init.zeros_(self.out.weight)

    def forward(self, x, t, y, x0_prev=None, drop_path=0.0):
        x0_prev = torch.zeros_like(x) if x0_prev is None else x0_prev
        h = self.inp(torch.cat([x, x0_prev], 1)) + self.time(t) + self.label(y)
        for block in self.mid:
            if drop_path and random.random() < drop_path:  # stochastic depth
                continue
            h = h + block(h)
        return self.out(h)


class LossAwareSampler:
    """Importance sampling of timesteps by sqrt(E[loss^2]), uniform until every step has some history."""

    def __init__(self, history=5):
        self.hist = [deque(maxlen=history) for _ in range(T)]

    def weights(self):
        if any(len(h) < 5 for h in self.hist):
            return torch.ones(T) / T
        w = torch.tensor([math.sqrt(sum(v * v for v in h) / len(h)) for h in self.hist])
        return 0.9 * w / w.sum() + 0.1 / T

    def sample(self, n):
        p = self.weights()
        t = torch.multinomial(p, n, replacement=True)
        return t, 1 / (T * p[t])

    def update(self, t, losses):
        for i, v in zip(t.tolist(), losses.tolist()):
            self.hist[i].append(v)


class EMA:
    def __init__(self, model):
        self.shadow, self.n = copy.deepcopy(model.state_dict()), 0

    @torch.no_grad()
    def update(self, model):
        self.n += 1
        d = min(0.99, (1 + self.n) / (10 + self.n))
        for k, v in model.state_dict().items():
            self.shadow[k].lerp_(v, 1 - d)

    @contextmanager
    def swapped(self, model):
        live = copy.deepcopy(model.state_dict())
        model.load_state_dict(self.shadow)
        try:
            yield model
        finally:
            model.load_state_dict(live)


def per_sample_loss(model, x0, y, t):
    ab = AB[t].unsqueeze(1)
    x_t = ab.sqrt() * x0 + (1 - ab).sqrt() * torch.randn_like(x0)
    y = torch.where(torch.rand(len(y)) < 0.1, torch.full_like(y, N_CLASS), y)
    prev = None
    if random.random() < 0.5:  # self-conditioning: the first estimate carries no gradient
        with torch.no_grad():
            prev = model(x_t, t, y)
    return (model(x_t, t, y, prev, drop_path=0.1) - x0).square().mean(1)


@torch.no_grad()
def sample(model, y, scale=0.5):
    """Ancestral sampling with classifier-free guidance and self-conditioning."""
    x, prev, null = torch.randn(len(y), 2), None, torch.full_like(y, N_CLASS)
    for i in reversed(range(T)):
        t = torch.full_like(y, i)
        cond, uncond = model(x, t, y, prev), model(x, t, null, prev)
        x0 = cond + scale * (cond - uncond)
        prev = cond
        ab, ab_prev = AB[i], AB[i - 1] if i > 0 else torch.tensor(1.0)
        mean = ab_prev.sqrt() * BETAS[i] / (1 - ab) * x0 + (1 - BETAS[i]).sqrt() * (1 - ab_prev) / (1 - ab) * x
        x = mean + (BETAS[i] * (1 - ab_prev) / (1 - ab)).sqrt() * torch.randn_like(x)
    return x


def quality(model, gen):
    model.eval()
    x, y = make_data(600, gen)
    s = sample(model, y)
    model.train()
    dirs = F.normalize(torch.randn(2, 32), dim=0)
    return sum((torch.sort(s[y == c] @ dirs, 0)[0] - torch.sort(x[y == c] @ dirs, 0)[0]).abs().mean().item()
               for c in range(N_CLASS)) / N_CLASS


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=700)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model, sampler = Denoiser(), LossAwareSampler()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    ema, avg, rollbacks, micro = EMA(model), None, 0, 64
    before = quality(model, gen)
    snap = None
    for step in range(args.steps):
        if step % 20 == 0:
            snap = copy.deepcopy((model.state_dict(), opt.state_dict()))
        n_micro = random.choice([1, 2, 3])  # batch size in units of what fits; mean over all rows
        opt.zero_grad()
        total = 0.0
        for _ in range(n_micro):
            x0, y = make_data(micro, gen)
            t, w = sampler.sample(micro)
            losses = per_sample_loss(model, x0, y, t)
            loss = (w * losses).mean() / n_micro
            loss.backward()
            sampler.update(t, losses.detach())
            total += loss.item()
        if avg is not None and step > 50 and total > 1.6 * avg:  # spike: drop this batch, go back to the snapshot
            model.load_state_dict(snap[0])
            opt.load_state_dict(snap[1])
            rollbacks += 1
            avg = 0.8 * avg + 0.2 * total
            continue
        avg = total if avg is None else 0.97 * avg + 0.03 * total
        opt.step()
        ema.update(model)
        if step % 100 == 0:
            with ema.swapped(model) as m:
                print(f"step {step} loss {avg:.4f} ema quality {quality(m, gen):.4f} rollbacks {rollbacks}")
    with ema.swapped(model) as m:
        after = quality(m, gen)
    print(f"EVIDENCE sliced_w_before={before:.4f} sliced_w_after={after:.4f} rollbacks={rollbacks}")


if __name__ == "__main__":
    main()
