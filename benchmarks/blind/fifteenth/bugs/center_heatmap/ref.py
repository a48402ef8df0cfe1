"""CenterNet in small: discs and squares are found as peaks of a heat map, with sizes and sub-cell offsets."""
import argparse
import math

import torch
from torch import nn
from torch.nn import functional as F

CLASSES, IMG, STRIDE = 2, 48, 4
MAP = IMG // STRIDE


class Scene:
    """One picture with one to three objects that keep apart."""

    def __init__(self, gen):
        def rand(lo, hi):
            return lo + (hi - lo) * torch.rand((), generator=gen).item()

        self.image = 0.15 * torch.randn(1, IMG, IMG, generator=gen)
        self.objects = []
        ys, xs = torch.meshgrid(torch.arange(IMG).float() + 0.5, torch.arange(IMG).float() + 0.5, indexing="ij")
        for _ in range(int(rand(1, 4))):
            for _ in range(20):
                r = rand(3.5, 6.5)
                cx, cy = rand(r, IMG - r), rand(r, IMG - r)
                if all(math.hypot(cx - o[1], cy - o[2]) > 14 for o in self.objects):
                    break
            else:
                continue
            kind = int(rand(0, 2))
            if kind == 0:
                inside = (xs - cx) ** 2 + (ys - cy) ** 2 < r * r
            else:
                inside = ((xs - cx).abs() < r) & ((ys - cy).abs() < r)
            self.image[0][inside] += rand(0.7, 1.2)
            self.objects.append((kind, cx, cy, 2 * r))


def splat(heat, cx, cy, sigma):
    """Draws a Gaussian whose peak is one; where objects meet the larger value stays."""
    ys, xs = torch.meshgrid(torch.arange(MAP).float(), torch.arange(MAP).float(), indexing="ij")
    blob = torch.exp(-((xs - cx) ** 2 + (ys - cy) ** 2) / (2 * sigma ** 2))
    torch.maximum(heat, blob, out=heat)


def encode(scene):
    heat = torch.zeros(CLASSES, MAP, MAP)
    reg = torch.zeros(3, MAP, MAP)
    has = torch.zeros(1, MAP, MAP)
    for kind, x, y, size in scene.objects:
        cx, cy = x / STRIDE, y / STRIDE
        ix, iy = int(cx), int(cy)
        splat(heat[kind], ix, iy, sigma=size / STRIDE / 4)
        reg[:, iy, ix] = torch.tensor([cx - ix, cy - iy, math.log(size / STRIDE)])
        has[:, iy, ix] = 1.0
    return heat, reg, has


class Detector(nn.Module):
    def __init__(self, width=16):
        super().__init__()

        def block(i, o, stride):
            return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())

        self.body = nn.Sequential(block(1, width, 2), block(width, 2 * width, 2), block(2 * width, 2 * width, 1),
                                  block(2 * width, 2 * width, 1))
        self.heat = nn.Conv2d(2 * width, CLASSES, 1)
        self.reg = nn.Conv2d(2 * width, 3, 1)
        nn.init.constant_(self.heat.bias, -2.19)

    def forward(self, x):
        h = self.body(x)
        return self.heat(h), self.reg(h)


def focal_loss(logits, target):
    """Penalty-reduced focal loss over the map (alpha 2, beta 4)."""
    p = torch.sigmoid(logits).clamp(1e-4, 1 - 1e-4)
    pos = target.eq(1).float()
    pos_loss = (torch.log(p) * (1 - p) ** 2 * pos).sum()
    neg_loss = (torch.log(1 - p) * p ** 2 * (1 - target) ** 4 * (1 - pos)).sum()
    return -(pos_loss + neg_loss) / pos.sum().clamp(min=1)


@torch.no_grad()
def detect(net, images, threshold=0.3):
    logits, reg = net(images)
    p = torch.sigmoid(logits)
    peaks = (F.max_pool2d(p, 3, 1, 1) == p) & (p > threshold)
    found = [[] for _ in images]
    for b, k, i, j in peaks.nonzero().tolist():
        dx, dy, size = reg[b, :, i, j].tolist()
        found[b].append((p[b, k, i, j].item(), k, (j + dx) * STRIDE, (i + dy) * STRIDE, math.exp(size) * STRIDE))
    return found


def evaluate(net, scenes):
    net.eval()
    images = torch.stack([s.image for s in scenes])
    hits = n_true = n_found = 0
    for found, scene in zip(detect(net, images), scenes):
        left = list(scene.objects)
        n_true += len(left)
        n_found += len(found)
        for _, kind, x, y, size in sorted(found, reverse=True):
            for o in left:
                if o[0] == kind and math.hypot(o[1] - x, o[2] - y) < 3:
                    left.remove(o)
                    hits += 1
                    break
    net.train()
    return hits / n_true, hits / max(n_found, 1)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=350)
    opt = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(opt.seed)
    gen = torch.Generator().manual_seed(opt.seed + 77)
    train, val = [Scene(gen) for _ in range(320)], [Scene(gen) for _ in range(100)]
    images = torch.stack([s.image for s in train])
    heat, reg, has = (torch.stack(t) for t in zip(*map(encode, train)))
    net = Detector()
    optim = torch.optim.AdamW(net.parameters(), lr=opt.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(optim, opt.lr, total_steps=opt.steps)
    for step in range(opt.steps):
        idx = torch.randint(len(train), (16,))
        logits, out = net(images[idx])
        l_heat = focal_loss(logits, heat[idx])
        l_reg = ((out - reg[idx]).abs() * has[idx]).sum() / has[idx].sum().clamp(min=1)
        loss = l_heat + l_reg
        optim.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 10.0)
        optim.step()
        sched.step()
        if step % 70 == 0:
            print(f"{step:4d} heat {l_heat.item():.3f} reg {l_reg.item():.3f}")
    recall, precision = evaluate(net, val)
    print(f"EVIDENCE recall {recall:.3f} precision {precision:.3f}")
