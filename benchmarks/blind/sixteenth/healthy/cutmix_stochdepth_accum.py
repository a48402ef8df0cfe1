"""Image classifier with stochastic depth, mixup or cutmix by chance, progressive resizing, ragged gradient accumulation
(sum loss, divided by the number of images at the end), AGC-style clipping, and a warmed-up EMA used for evaluation."""
import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Residual(nn.Module):
    def __init__(self, dim, drop):
        super().__init__()
        self.norm = nn.GroupNorm(4, dim)
        self.conv1 = nn.Conv2d(dim, dim, 3, padding=1)
        self.conv2 = nn.Conv2d(dim, dim, 3, padding=1)
        self.drop = drop
        self.scale = nn.Parameter(torch.full((1, dim, 1, 1), 0.1))

    def forward(self, x):
        if self.training and torch.rand(()).item() < self.drop:
            return x  # the whole branch is skipped for this micro-batch: no gradient from it
        h = self.conv2(F.silu(self.conv1(F.silu(self.norm(x)))))
        return x + self.scale * h * (1.0 if not self.training else 1.0 / (1.0 - self.drop))


class ResNet(nn.Module):
    def __init__(self, dim=24, blocks=4):
        super().__init__()
        self.stem = nn.Conv2d(1, dim, 3, padding=1, stride=2)
        self.blocks = nn.ModuleList(Residual(dim, 0.4 * (i + 1) / blocks) for i in range(blocks))
        self.head = nn.Linear(dim * 4, 10)

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = b(x)
        return self.head(F.adaptive_avg_pool2d(x, 2).flatten(1))


class WarmEMA:
    """decay rises with the number of updates; buffers are copied."""

    def __init__(self, model, decay=0.98):
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.n = decay, 0

    @torch.no_grad()
    def update(self, model):
        self.n += 1
        d = min(self.decay, (1 + self.n) / (10 + self.n))
        for e, p in zip(self.module.parameters(), model.parameters()):
            e.mul_(d).add_(p, alpha=1 - d)
        for e, b in zip(self.module.buffers(), model.buffers()):
            e.copy_(b)


def mix(x, y, rng):
    """Returns images and soft targets; the label share of cutmix follows the area that was really pasted."""
    t = F.one_hot(y, 10).float()
    kind = rng.choice(["none", "mixup", "cutmix"], p=[0.4, 0.3, 0.3])
    if kind == "none":
        return x, t
    perm, lam = torch.randperm(len(x)), float(rng.beta(0.4, 0.4))
    if kind == "mixup":
        return lam * x + (1 - lam) * x[perm], lam * t + (1 - lam) * t[perm]
    h, w = x.shape[-2:]
    ch, cw = int(h * (1 - lam) ** 0.5), int(w * (1 - lam) ** 0.5)
    top, left = int(rng.integers(0, h - ch + 1)), int(rng.integers(0, w - cw + 1))
    x = x.clone()
    x[..., top:top + ch, left:left + cw] = x[perm][..., top:top + ch, left:left + cw]
    share = 1 - ch * cw / (h * w)
    return x, share * t + (1 - share) * t[perm]


@torch.no_grad()
def clip_by_weight_norm(model, factor=0.1):
    for p in model.parameters():
        if p.grad is not None and p.ndim > 1:
            limit = factor * p.norm().clamp(min=1e-2)
            p.grad.mul_((limit / (p.grad.norm() + 1e-6)).clamp(max=1.0))


@torch.no_grad()
def accuracy(model, x, y):
    mode = model.training
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train(mode)
    return acc


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=130)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    d = load_digits()
    order = rng.permutation(len(d.images))
    x = torch.tensor(d.images[order], dtype=torch.float32).unsqueeze(1) / 16.0
    x = (x - 0.305) / 0.376
    y = torch.tensor(d.target[order])
    x, y, xv, yv = x[:1300], y[:1300], x[1300:], y[1300:]
    xv = F.interpolate(xv, size=16, mode="bilinear", align_corners=False)

    model = ResNet()
    ema = WarmEMA(model)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.02)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps, eta_min=args.lr / 50)
    idle = {}
    for step in range(args.steps):
        size = 8 if step < args.steps // 3 else 12 if step < 2 * args.steps // 3 else 16
        seen, total = 0, 0.0
        for _ in range(int(rng.integers(1, 4))):  # micro-batches of unequal size
            i = torch.randint(len(x), (int(rng.integers(12, 33)),))
            xb = F.interpolate(x[i], size=size, mode="bilinear", align_corners=False) if size != 8 else x[i]
            xb, t = mix(xb, y[i], rng)
            loss = F.cross_entropy(model(xb), t, reduction="sum")
            loss.backward()
            seen += len(i)
            total += loss.item()
        for name, p in model.named_parameters():
            if p.grad is None:
                idle[name] = idle.get(name, 0) + 1
            else:
                p.grad.div_(seen)
        clip_by_weight_norm(model)
        opt.step()
        opt.zero_grad(set_to_none=True)
        sched.step()
        ema.update(model)
        if (step + 1) % 30 == 0:
            print(f"step {step + 1} size {size} images {seen} loss {total / seen:.4f} "
                  f"acc {accuracy(model, xv, yv):.4f} ema {accuracy(ema.module, xv, yv):.4f}")
    print(f"EVIDENCE acc={accuracy(model, xv, yv):.4f} ema_acc={accuracy(ema.module, xv, yv):.4f} "
          f"most_idle_steps={max(idle.values(), default=0)}")


if __name__ == "__main__":
    main()
