"""Segments discs and squares in noisy images; the averaged weights are the ones we ship."""
import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_CLASSES = 3


def render(rng, size=32):
    image = rng.normal(0.0, 0.35, (size, size)).astype(np.float32)
    mask = np.zeros((size, size), dtype=np.int64)
    yy, xx = np.mgrid[:size, :size]
    for _ in range(rng.integers(1, 4)):
        cy, cx, r = rng.integers(5, size - 5), rng.integers(5, size - 5), rng.integers(3, 7)
        label = int(rng.integers(1, NUM_CLASSES))
        if label == 1:
            region = (yy - cy) ** 2 + (xx - cx) ** 2 <= r * r
        else:
            region = (abs(yy - cy) <= r) & (abs(xx - cx) <= r)
        image[region] += 1.0 if label == 1 else 1.4
        mask[region] = label
    return image, mask


class ShapeSet(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        pairs = [render(rng) for _ in range(n)]
        self.images = torch.from_numpy(np.stack([a for a, _ in pairs]))[:, None]
        self.masks = torch.from_numpy(np.stack([b for _, b in pairs]))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.ReLU())


class TinyUNet(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.enc1, self.enc2 = block(1, c), block(c, 2 * c)
        self.mid = block(2 * c, 2 * c)
        self.dec2, self.dec1 = block(4 * c, c), block(2 * c, c)
        self.head = nn.Conv2d(c, NUM_CLASSES, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        u = self.dec2(torch.cat([F.interpolate(m, scale_factor=2), b], 1))
        u = self.dec1(torch.cat([F.interpolate(u, scale_factor=2), a], 1))
        return self.head(u)


class ModelEma:
    def __init__(self, model, decay):
        self.decay = decay
        self.module = copy.deepcopy(model).eval()
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        one_minus_decay = 1.0 - self.decay
        for s_param, param in zip(self.module.parameters(), model.parameters()):
            tmp = s_param - param
            tmp.mul_(one_minus_decay)
            s_param.sub_(tmp)


@torch.no_grad()
def mean_iou(model, loader):
    conf = torch.zeros(NUM_CLASSES, NUM_CLASSES)
    for x, y in loader:
        pred = model(x).argmax(1)
        conf += torch.bincount((y * NUM_CLASSES + pred).flatten(), minlength=NUM_CLASSES ** 2).view(NUM_CLASSES, -1)
    inter = conf.diag()
    return (inter / (conf.sum(0) + conf.sum(1) - inter).clamp(min=1)).mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--steps", type=int, default=100)
    p.add_argument("--ema-decay", type=float, default=0.95)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    train_set, val_set = ShapeSet(320, args.seed), ShapeSet(96, 10_000 + args.seed)
    train_loader = torch.utils.data.DataLoader(train_set, batch_size=16, shuffle=True, drop_last=True)
    val_loader = torch.utils.data.DataLoader(val_set, batch_size=32)

    model = TinyUNet()
    ema = ModelEma(model, args.ema_decay)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)

    step = 0
    while step < args.steps:
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            ema.update(model)
            if step % 20 == 0:
                print(f"step {step:4d} loss {loss.item():.4f}")
            step += 1
            if step == args.steps:
                break

    print(f"final loss {loss.item():.4f}")
    print(f"EVIDENCE miou_ema={mean_iou(ema.module, val_loader):.4f}")


if __name__ == "__main__":
    main()
