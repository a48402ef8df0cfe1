"""Nuclei segmentation: a small U-Net with GroupNorm, BCE plus Dice, OneCycleLR and gradient clipping."""

import argparse

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=6e-3)
parser.add_argument("--steps", type=int, default=4, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

SIZE = 32


def make_slide(rng):
    """Blurred bright ellipses on an uneven background; the mask is the union of the ellipses."""
    yy, xx = np.mgrid[:SIZE, :SIZE]
    image = 0.2 + 0.2 * rng.random() * xx / SIZE
    mask = np.zeros((SIZE, SIZE), dtype=bool)
    for _ in range(rng.integers(2, 6)):
        cy, cx = rng.uniform(3, SIZE - 3, 2)
        ry, rx = rng.uniform(2.5, 5.5, 2)
        mask |= ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1
    image = image + mask * rng.uniform(0.25, 0.5) + rng.normal(0, 0.12, mask.shape)
    return image.astype(np.float32), mask.astype(np.float32)


class Slides(Dataset):
    def __init__(self, n, seed, train):
        rng = np.random.default_rng(seed)
        self.rows = [make_slide(rng) for _ in range(n)]
        self.train = train

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        image, mask = (torch.from_numpy(a).unsqueeze(0) for a in self.rows[i])
        if self.train:
            # flips move image and mask together
            if torch.rand(()) < 0.5:
                image, mask = image.flip(-1), mask.flip(-1)
            if torch.rand(()) < 0.5:
                image, mask = image.flip(-2), mask.flip(-2)
            image = image * (0.9 + 0.2 * torch.rand(()))
        return image, mask


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.GroupNorm(4, cout), nn.SiLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.GroupNorm(4, cout), nn.SiLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.down1 = double_conv(1, base)
        self.down2 = double_conv(base, 2 * base)
        self.middle = double_conv(2 * base, 4 * base)
        self.up2 = nn.ConvTranspose2d(4 * base, 2 * base, 2, stride=2)
        self.dec2 = double_conv(4 * base, 2 * base)
        self.up1 = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.dec1 = double_conv(2 * base, base)
        self.head = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(F.max_pool2d(d1, 2))
        m = self.middle(F.max_pool2d(d2, 2))
        u2 = self.dec2(torch.cat([self.up2(m), d2], dim=1))
        u1 = self.dec1(torch.cat([self.up1(u2), d1], dim=1))
        return self.head(u1)


def dice_loss(logits, target, eps=1.0):
    prob = torch.sigmoid(logits).flatten(1)
    target = target.flatten(1)
    inter = (prob * target).sum(1)
    return (1 - (2 * inter + eps) / (prob.sum(1) + target.sum(1) + eps)).mean()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    inter = union = 0
    for image, mask in loader:
        guess = model(image) > 0
        inter += (guess & (mask > 0.5)).sum().item()
        union += (guess | (mask > 0.5)).sum().item()
    return inter / max(union, 1)


train = DataLoader(Slides(240, args.seed, True), batch_size=16, shuffle=True, drop_last=True)
val = DataLoader(Slides(64, args.seed + 1000, False), batch_size=64)
model = UNet()
opt = torch.optim.AdamW(model.parameters(), lr=args.lr / 10, weight_decay=1e-2)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=args.lr, total_steps=args.steps * len(train), pct_start=0.3)
for epoch in range(args.steps):
    model.train()
    running = 0.0
    for image, mask in train:
        logits = model(image)
        loss = F.binary_cross_entropy_with_logits(logits, mask) + dice_loss(logits, mask)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        opt.step()
        sched.step()
        running += loss.item()
    print(f"epoch {epoch} loss {running / len(train):.3f} iou {evaluate(model, val):.3f}")
