"""Segmentation of blobs with a small U-Net: DataLoader workers, random flips and noise, Dice plus BCE, ReduceLROnPlateau."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    """Every index has its own picture; some have no blob at all."""

    def __init__(self, n, seed, augment):
        self.n, self.seed, self.augment = n, seed, augment
        self.yy, self.xx = np.mgrid[0:32, 0:32]

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng([self.seed, i])
        img = rng.normal(0, 0.25, (32, 32)) + 0.2 * np.sin(self.xx / rng.uniform(2, 6))
        mask = np.zeros((32, 32), dtype=bool)
        for _ in range(rng.integers(0, 4)):
            cy, cx = rng.uniform(4, 28, 2)
            ry, rx = rng.uniform(2, 6, 2)
            mask |= ((self.yy - cy) / ry) ** 2 + ((self.xx - cx) / rx) ** 2 < 1
        img = img + mask * rng.uniform(0.8, 1.4)
        image = torch.from_numpy(img.astype(np.float32))[None]
        target = torch.from_numpy(mask.astype(np.float32))[None]
        if self.augment:
            if torch.rand(()) < 0.5:
                image, target = image.flip(2), target.flip(2)
            if torch.rand(()) < 0.5:
                image, target = image.flip(1), target.flip(1)
            if torch.rand(()) < 0.3:
                image = image + 0.1 * torch.randn_like(image)
        return image, target


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU(),
                         nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU())


class UNet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.enc1, self.enc2, self.mid = double_conv(1, base), double_conv(base, 2 * base), double_conv(2 * base, 4 * base)
        self.pool = nn.MaxPool2d(2)
        self.up2, self.dec2 = nn.ConvTranspose2d(4 * base, 2 * base, 2, 2), double_conv(4 * base, 2 * base)
        self.up1, self.dec1 = nn.ConvTranspose2d(2 * base, base, 2, 2), double_conv(2 * base, base)
        self.head = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        m = self.mid(self.pool(e2))
        d2 = self.dec2(torch.cat([self.up2(m), e2], 1))
        return self.head(self.dec1(torch.cat([self.up1(d2), e1], 1)))


def dice_loss(logits, target, eps=1.0):
    p = logits.sigmoid().flatten(1)
    t = target.flatten(1)
    return (1 - (2 * (p * t).sum(1) + eps) / (p.sum(1) + t.sum(1) + eps)).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--steps", type=int, default=4, help="epochs")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train = DataLoader(Blobs(240, args.seed, True), batch_size=8, shuffle=True, num_workers=args.workers,
                       persistent_workers=args.workers > 0)
    valid = DataLoader(Blobs(64, args.seed + 1000, False), batch_size=32)
    model = UNet()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1, threshold=0.02)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(args.steps):
        model.train()
        losses = []
        for image, target in train:
            logits = model(image)
            loss = bce(logits, target) + dice_loss(logits, target)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        inter = union = val_loss = 0.0
        with torch.no_grad():
            for image, target in valid:
                logits = model(image)
                val_loss += (bce(logits, target) + dice_loss(logits, target)).item() * len(image) / len(valid.dataset)
                pred, true = logits > 0, target > 0.5
                inter += (pred & true).sum().item()
                union += (pred | true).sum().item()
        sched.step(val_loss)
        print(f"epoch {epoch}: train {np.mean(losses):.4f} valid {val_loss:.4f} "
              f"IoU {inter / union:.4f} lr {opt.param_groups[0]['lr']:.4g}")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
