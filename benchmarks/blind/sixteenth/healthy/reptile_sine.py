"""Reptile: the meta parameters never see backward(); their .grad is the negative displacement of an adapted copy."""
import argparse
import copy
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class SineTask:
    def __init__(self, rng):
        self.amp, self.phase = rng.uniform(0.5, 3.0), rng.uniform(0, math.pi)

    def batch(self, n, rng):
        x = torch.tensor([[rng.uniform(-5, 5)] for _ in range(n)])
        return x, self.amp * torch.sin(x + self.phase)


class Net(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                    nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x)


def adapt(model, x, y, lr, steps, batch=None, opt_state=None):
    """Inner loop with its own short-lived Adam (beta1 = 0); optimizer moments travel between tasks on request."""
    opt = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.0, 0.99))
    if opt_state is not None:
        opt.load_state_dict(opt_state)
    for i in range(steps):
        if batch:
            sel = torch.arange(i * batch, (i + 1) * batch) % len(x)
            xb, yb = x[sel], y[sel]
        else:
            xb, yb = x, y
        loss = F.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return opt.state_dict()


def evaluate(model, inner_lr, n_tasks=15, k=10):
    rng, total = random.Random(4242), 0.0
    for _ in range(n_tasks):
        task = SineTask(rng)
        clone = copy.deepcopy(model)
        x, y = task.batch(k, rng)
        adapt(clone, x, y, inner_lr, steps=16)
        with torch.no_grad():
            xq, yq = task.batch(50, rng)
            total += F.mse_loss(clone(xq), yq).item()
    return total / n_tasks


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.5)
    ap.add_argument("--steps", type=int, default=300)
    ap.add_argument("--inner-lr", type=float, default=0.01)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)

    meta = Net()
    meta_opt = torch.optim.SGD(meta.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.LambdaLR(meta_opt, lambda i: max(1 - i / args.steps, 0.0))
    before = best = evaluate(meta, args.inner_lr)
    best_state, opt_state = copy.deepcopy(meta.state_dict()), None
    eval_every = max(args.steps // 6, 1)
    for it in range(args.steps):
        n_tasks = rng.choice([1, 1, 2])  # variable meta batch
        delta = [torch.zeros_like(p) for p in meta.parameters()]
        for _ in range(n_tasks):
            task, fast = SineTask(rng), copy.deepcopy(meta)
            x, y = task.batch(20, rng)
            opt_state = adapt(fast, x, y, args.inner_lr, steps=rng.randint(5, 9), batch=10, opt_state=opt_state)
            for d, p, q in zip(delta, meta.parameters(), fast.parameters()):
                d.add_(p.detach() - q.detach(), alpha=1 / n_tasks)
        for p, d in zip(meta.parameters(), delta):
            p.grad = d
        meta_opt.step()
        meta_opt.zero_grad(set_to_none=True)
        sched.step()
        if (it + 1) % eval_every == 0:
            score = evaluate(meta, args.inner_lr)
            if score < best:
                best, best_state = score, copy.deepcopy(meta.state_dict())
            print(f"iter {it + 1} adapted mse {score:.4f} best {best:.4f} outer lr {sched.get_last_lr()[0]:.3f}")
    meta.load_state_dict(best_state)
    print(f"EVIDENCE mse_before={before:.4f} mse_after={evaluate(meta, args.inner_lr):.4f}")


if __name__ == "__main__":
    main()
