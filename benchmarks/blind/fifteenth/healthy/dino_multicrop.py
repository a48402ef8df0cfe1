"""Self-distillation without labels from two large crops and some small ones; judged by neighbours among the features."""
import argparse
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

KINDS, SIDE = 6, 24


def textures(n, gen):
    """Six kinds of textures with any phase, colour and contrast; the kind is known to the judge only."""
    y = torch.randint(0, KINDS, (n,), generator=gen)
    r = torch.rand(n, 6, 1, 1, generator=gen)
    yy, xx = torch.meshgrid(torch.arange(SIDE).float(), torch.arange(SIDE).float(), indexing="ij")
    ph = 6.28 * r[:, 0]
    u = xx + yy
    stack = torch.stack([
        (0.8 * xx + ph).sin(), (1.6 * xx + ph).sin(), (0.8 * yy + ph).sin(), (0.9 * u + ph).sin(),
        (0.9 * xx + ph).sin() * (0.9 * yy + 6.28 * r[:, 1]).sin() * 1.4,
        (((xx - 4 - 16 * r[:, 1]) ** 2 + (yy - 4 - 16 * r[:, 2]) ** 2).sqrt() * 0.9 + ph).sin()], 1)
    img = stack[torch.arange(n), y][:, None]
    tint = 0.6 + 0.8 * torch.rand(n, 3, 1, 1, generator=gen)
    return img * tint * (0.6 + 0.6 * r[:, 3:4]) + 0.5 * torch.randn(n, 3, SIDE, SIDE, generator=gen), y


def crop(x, side, lo, hi):
    """One box of its own for each picture, resized; colours are shaken and sometimes dropped."""
    n = len(x)
    size = lo + (hi - lo) * torch.rand(n)
    cx, cy = (1 - size) * (2 * torch.rand(n) - 1), (1 - size) * (2 * torch.rand(n) - 1)
    zero = torch.zeros(n)
    theta = torch.stack([torch.stack([size, zero, cx], 1), torch.stack([zero, size, cy], 1)], 1)
    out = F.grid_sample(x, F.affine_grid(theta, (n, 3, side, side), align_corners=False), align_corners=False, padding_mode="reflection")
    out = out * (0.7 + 0.6 * torch.rand(n, 3, 1, 1)) + 0.2 * torch.randn(n, 1, 1, 1)
    grey = (torch.rand(n, 1, 1, 1) < 0.2).float()
    return grey * out.mean(1, keepdim=True) + (1 - grey) * out


class Backbone(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, w, 3, 1, 1), nn.GroupNorm(4, w), nn.GELU(), nn.AvgPool2d(2),
            nn.Conv2d(w, 2 * w, 3, 1, 1), nn.GroupNorm(4, 2 * w), nn.GELU(), nn.AvgPool2d(2),
            nn.Conv2d(2 * w, 3 * w, 3, 1, 1), nn.GroupNorm(4, 3 * w), nn.GELU())

    def forward(self, x):
        return self.net(x).mean((2, 3))


class Head(nn.Module):
    def __init__(self, inp=48, out=64):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(inp, 96), nn.GELU(), nn.Linear(96, 32))
        self.last = nn.utils.parametrizations.weight_norm(nn.Linear(32, out, bias=False))
        self.last.parametrizations.weight.original0.data.fill_(1.0)
        self.last.parametrizations.weight.original0.requires_grad_(False)

    def forward(self, x):
        return self.last(F.normalize(self.mlp(x), dim=-1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = Backbone(), Head()

    def forward(self, crops):
        """Crops of one size go through together; features of all sizes share one pass of the head."""
        feats, i = [], 0
        while i < len(crops):
            j = i
            while j < len(crops) and crops[j].shape[-1] == crops[i].shape[-1]:
                j += 1
            feats.append(self.backbone(torch.cat(crops[i:j])))
            i = j
        return self.head(torch.cat(feats)).chunk(len(crops))


@torch.no_grad()
def neighbours(backbone, bank, query, k=9):
    fb, fq = F.normalize(backbone(bank[0]), dim=1), F.normalize(backbone(query[0]), dim=1)
    near = (fq @ fb.t()).topk(k, dim=1)
    votes = torch.zeros(len(fq), KINDS).scatter_add_(1, bank[1][near.indices], (near.values / 0.1).exp())
    return (votes.argmax(1) == query[1]).float().mean().item()


def cosine(a, b, x):
    return b + (a - b) * 0.5 * (1 + math.cos(math.pi * x))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1.5e-3)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed + 11)
    pool, bank, query = textures(1200, gen), textures(200, gen), textures(200, gen)
    student = Net()
    teacher = copy.deepcopy(student).eval()
    for p in teacher.parameters():
        p.requires_grad_(False)
    center = torch.zeros(1, 64)
    wide = [p for p in student.parameters() if p.requires_grad and p.ndim > 1]
    thin = [p for p in student.parameters() if p.requires_grad and p.ndim <= 1]
    opt = torch.optim.AdamW([{"params": wide}, {"params": thin, "weight_decay": 0.0}], lr=args.lr)
    before = neighbours(student.backbone, bank, query)
    for step in range(args.steps):
        done = step / args.steps
        for i, group in enumerate(opt.param_groups):
            group["lr"] = args.lr * min((step + 1) / 20, cosine(1.0, 0.05, done))
            if i == 0:
                group["weight_decay"] = cosine(0.02, 0.1, done)
        sharp = 0.03 + 0.015 * min(1.0, done / 0.3)
        x = pool[0][torch.randperm(len(pool[0]))[:32]]
        views = [crop(x, 24, 0.6, 1.0) for _ in range(2)]
        views += [crop(x, 12, 0.3, 0.6) for _ in range(int(torch.randint(0, 4, ())))]     # none to three
        with torch.no_grad():
            t_out = teacher(views[:2])
            target = [((t - center) / sharp).softmax(-1) for t in t_out]
        s_out = [F.log_softmax(s / 0.1, dim=-1) for s in student(views)]
        terms = [-(t * s).sum(-1).mean() for i, t in enumerate(target) for j, s in enumerate(s_out) if i != j]
        loss = sum(terms) / len(terms)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        for p in student.parameters():            # each tensor is clipped by itself
            if p.grad is not None:
                p.grad.mul_((1.0 / (p.grad.norm() + 1e-6)).clamp(max=1.0))
        if step < 15:                             # the last layer waits
            for p in student.head.last.parameters():
                p.grad = None
        opt.step()
        with torch.no_grad():
            m = cosine(0.97, 1.0, done)
            for pt, ps in zip(teacher.parameters(), student.parameters()):
                pt.lerp_(ps, 1 - m)
            center.lerp_(torch.cat(t_out).mean(0, keepdim=True), 0.05)
        if step % 40 == 0:
            entropy = -(torch.cat(target).mean(0) * torch.cat(target).mean(0).clamp(min=1e-9).log()).sum().item()
            print(f"{step} loss {loss.item():.3f} views {len(views)} entropy of the mean {entropy:.2f} knn {neighbours(teacher.backbone, bank, query):.3f}")
    print(f"EVIDENCE neighbours right {neighbours(teacher.backbone, bank, query):.3f} (before {before:.3f}), loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
