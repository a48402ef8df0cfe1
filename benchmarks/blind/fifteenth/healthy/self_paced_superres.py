"""Super-resolution by a factor of two from crops of any size; the loss looks at an ever smaller share of hard pixels."""
import argparse
import copy
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.a, self.b = nn.Conv2d(w, 2 * w, 3, padding=1), nn.Conv2d(2 * w, w, 3, padding=1)
        self.scale = nn.Parameter(torch.tensor(0.1))

    def forward(self, x):
        return x + self.scale * self.b(F.relu(self.a(x)))


class Upscaler(nn.Module):
    def __init__(self, w=12, depth=3):
        super().__init__()
        self.head = nn.Conv2d(1, w, 3, padding=1)
        self.body = nn.Sequential(*[Block(w) for _ in range(depth)])
        self.tail = nn.Sequential(nn.Conv2d(w, 4, 3, padding=1), nn.PixelShuffle(2))
        nn.init.zeros_(self.tail[0].weight)       # starts as plain bicubic
        nn.init.zeros_(self.tail[0].bias)

    def forward(self, lr):
        base = F.interpolate(lr, scale_factor=2, mode="bicubic", align_corners=False)
        return base + self.tail(self.body(self.head(lr - 0.5)))


def world(n, size, gen):
    """Pictures of overlapping half planes and gratings: sharp edges and fine lines."""
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    out = []
    for _ in range(n):
        img = torch.full((size, size), 0.5)
        for _ in range(4):
            th, off, kind = torch.rand(3, generator=gen).tolist()
            d = xx * math.cos(6.28 * th) + yy * math.sin(6.28 * th) - size * (off - 0.2)
            if kind < 0.6:
                img = torch.where(d > 0, img * 0.5 + 0.5 * torch.rand((), generator=gen), img)
            else:
                img = torch.where((d > 0) & (d < 8), 0.5 + 0.4 * torch.sin(d * (0.8 + kind)), img)
        out.append(img)
    return torch.stack(out)[:, None]


def shrink(hr):
    return F.interpolate(hr, scale_factor=0.5, mode="bicubic", align_corners=False, antialias=True)


def crops(pool, rng):
    """A batch with a size of its own: few large crops or many small ones."""
    side = rng.choice([16, 20, 24, 32])
    n = max(2, 4096 // side ** 2)
    batch = []
    for _ in range(n):
        img = pool[rng.randrange(len(pool))]
        y, x = rng.randrange(0, img.shape[-2] - side + 1), rng.randrange(0, img.shape[-1] - side + 1)
        c = img[:, y:y + side, x:x + side]
        c = torch.rot90(c, rng.randrange(4), (1, 2))
        if rng.random() < 0.5:
            c = c.flip(-1)
        batch.append(c)
    return torch.stack(batch)


def psnr(net, hr):
    with torch.no_grad():
        out = sum(net(torch.rot90(shrink(hr), k, (2, 3))).rot90(-k, (2, 3)) for k in range(4)) / 4
    return -10 * math.log10(F.mse_loss(out.clamp(0, 1), hr).item())


def main(seed, lr, steps):
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = random.Random(seed)
    gen = torch.Generator().manual_seed(seed + 3)
    pool, test = world(40, 48, gen), world(24, 48, gen)
    net = Upscaler()
    decay, rest = [], []
    for name, p in net.named_parameters():
        (decay if p.ndim > 1 else rest).append(p)
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 1e-3}, {"params": rest, "weight_decay": 0.0, "lr": 2 * lr}], lr=lr)
    base = [g["lr"] for g in opt.param_groups]
    mean_params, n_mean, skipped, history = None, 0, 0, []
    for step in range(steps):
        progress = step / steps
        factor = min(1.0, (step + 1) / 30) * (1.0 if progress < 0.6 else 0.3 if progress < 0.85 else 0.1)
        for g, b in zip(opt.param_groups, base):
            g["lr"] = b * factor
        hr = crops(pool, rng)
        err = (net(shrink(hr)) - hr).abs()
        keep = max(0.4, 1.0 - progress)
        hard = err.flatten().topk(int(err.numel() * keep)).values.mean()
        loss = 0.5 * err.mean() + 0.5 * keep * hard
        # a batch that is far beyond what is usual (very fine gratings) is not learned from
        usual = sorted(history[-40:])
        if len(usual) == 40 and err.mean().item() > 2.0 * usual[20]:
            skipped += 1
            history.append(err.mean().item())
            continue
        history.append(err.mean().item())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        if progress > 0.66 and step % 3 == 0:
            n_mean += 1
            now = [p.detach().clone() for p in net.parameters()]
            mean_params = now if mean_params is None else [m + (p - m) / n_mean for m, p in zip(mean_params, now)]
        if step % 100 == 0:
            print(f"{step} l1 {err.mean().item():.4f} crops {tuple(hr.shape)} keep {keep:.2f} skipped {skipped} psnr {psnr(net, test):.2f}")
    final = copy.deepcopy(net)
    if mean_params is not None:
        with torch.no_grad():
            for p, m in zip(final.parameters(), mean_params):
                p.copy_(m)
    bicubic = F.interpolate(shrink(test), scale_factor=2, mode="bicubic", align_corners=False).clamp(0, 1)
    print(f"EVIDENCE psnr {psnr(final, test):.2f} (last weights {psnr(net, test):.2f}, "
          f"bicubic {-10 * math.log10(F.mse_loss(bicubic, test).item()):.2f}) skipped {skipped}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=400)
    main(**vars(p.parse_args()))
