"""ReLoRA: low-rank updates are merged into frozen weights now and then; factors, their Adam state and the warmup start anew."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class ReLoRALinear(nn.Module):
    def __init__(self, n_in, n_out, rank=6):
        super().__init__()
        self.base = nn.Linear(n_in, n_out)
        self.base.weight.requires_grad_(False)
        self.down = nn.Parameter(torch.empty(rank, n_in))
        self.up = nn.Parameter(torch.zeros(n_out, rank))
        self.reset()

    @torch.no_grad()
    def reset(self):
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))
        nn.init.zeros_(self.up)

    @torch.no_grad()
    def merge(self):
        self.base.weight += self.up @ self.down
        self.reset()

    def forward(self, x):
        return self.base(x) + x @ self.down.T @ self.up.T


class Net(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.inp, self.mid, self.out = ReLoRALinear(64, width), ReLoRALinear(width, width), nn.Linear(width, 10)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        h = F.gelu(self.inp(x))
        h = h + F.gelu(self.mid(self.norm(h)))
        return self.out(h)


def prune_state(optimizer, params, keep=0.0):
    """Old moments belong to factors that no longer exist."""
    for p in params:
        for key in ("exp_avg", "exp_avg_sq"):
            if p in optimizer.state:
                optimizer.state[p][key].mul_(keep)


def jagged_lr(step, total, cycle, warmup=5):
    cosine = 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / total))
    return cosine * min(1.0, (step % cycle + 1) / warmup)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--cycle", type=int, default=30)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    x, y = load_digits(return_X_y=True)
    x, y = torch.tensor(x / 16.0, dtype=torch.float32), torch.tensor(y)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    train, test = order[:1300], order[1300:]

    model = Net()
    layers = [m for m in model.modules() if isinstance(m, ReLoRALinear)]
    factors = [f for m in layers for f in (m.down, m.up)]
    opt = torch.optim.Adam([q for q in model.parameters() if q.requires_grad], lr=args.lr)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: jagged_lr(s, args.steps, args.cycle))
    for step in range(1, args.steps + 1):
        idx = train[torch.randint(0, len(train), (args.batch,))]
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % args.cycle == 0 and step < args.steps:
            for layer in layers:
                layer.merge()
            prune_state(opt, factors)
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    with torch.no_grad():
        acc = (model(x[test]).argmax(1) == y[test]).float().mean().item()
    print(f"EVIDENCE test_accuracy={acc:.4f}", flush=True)


if __name__ == "__main__":
    main()
