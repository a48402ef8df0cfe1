"""Lesion/shape segmentation with a small U-Net; paired geometric augmentation by torchvision transforms."""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

NUM_CLASSES = 3  # background, disc, box
SIZE = 32


def render(rng):
    """One grey image with a bright disc and a darker box on a textured background, and its label map."""
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    img = 0.25 + 0.10 * np.sin(xx / rng.uniform(2, 5)) + rng.normal(0, 0.06, (SIZE, SIZE))
    lab = np.zeros((SIZE, SIZE), np.int64)
    x0, y0 = rng.integers(2, SIZE - 14, 2)
    w, h = rng.integers(7, 12, 2)
    lab[y0:y0 + h, x0:x0 + w] = 2
    cy, cx = rng.uniform(6, SIZE - 6, 2)
    lab[(yy - cy) ** 2 + (xx - cx) ** 2 < rng.uniform(4, 6.5) ** 2] = 1
    img = img + np.where(lab == 1, 0.45, 0.0) + np.where(lab == 2, 0.22, 0.0)
    return img.astype(np.float32), lab


class ShapeDataset(Dataset):
    def __init__(self, n, seed, train):
        rng = np.random.default_rng(seed)
        pairs = [render(rng) for _ in range(n)]
        self.images = torch.from_numpy(np.stack([p[0] for p in pairs])).unsqueeze(1)
        self.labels = torch.from_numpy(np.stack([p[1] for p in pairs])).unsqueeze(1)
        self.train = train
        self.geometry = T.Compose([
            T.RandomHorizontalFlip(),
            T.RandomVerticalFlip(),
            T.RandomCrop(SIZE, padding=4),
        ])
        self.normalize = T.Normalize(mean=[0.33], std=[0.2])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img, lab = self.images[i], self.labels[i]
        if self.train:
            seed = random.randrange(2 ** 31)
            random.seed(seed)  # same geometry for image and label
            img = self.geometry(img)
            random.seed(seed)
            lab = self.geometry(lab)
            img = img + 0.05 * (random.random() - 0.5)
        return self.normalize(img), lab.squeeze(0)


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.down1 = block(1, width)
        self.down2 = block(width, 2 * width)
        self.mid = block(2 * width, 2 * width)
        self.up1 = block(4 * width, width)
        self.up2 = block(2 * width, width)
        self.out = nn.Conv2d(width, NUM_CLASSES, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        c = F.interpolate(c, scale_factor=2, mode="bilinear", align_corners=False)
        d = self.up1(torch.cat([c, b], 1))
        d = F.interpolate(d, scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(self.up2(torch.cat([d, a], 1)))


def seg_loss(logits, labels):
    ce = F.cross_entropy(logits, labels)
    prob = logits.softmax(1)
    onehot = F.one_hot(labels, NUM_CLASSES).permute(0, 3, 1, 2).float()
    inter = (prob * onehot).sum((0, 2, 3))
    dice = (2 * inter + 1) / (prob.sum((0, 2, 3)) + onehot.sum((0, 2, 3)) + 1)
    return ce + 0.5 * (1 - dice.mean())


@torch.no_grad()
def mean_iou(model, loader):
    model.eval()
    inter, union = torch.zeros(NUM_CLASSES), torch.zeros(NUM_CLASSES)
    for img, lab in loader:
        pred = model(img).argmax(1)
        for c in range(NUM_CLASSES):
            inter[c] += ((pred == c) & (lab == c)).sum()
            union[c] += ((pred == c) | (lab == c)).sum()
    model.train()
    return (inter / union.clamp(min=1)).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.set_num_threads(1)
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    train = DataLoader(ShapeDataset(256, args.seed, True), batch_size=16, shuffle=True, drop_last=True)
    val = DataLoader(ShapeDataset(64, 10_000 + args.seed, False), batch_size=32)
    model = UNet()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.steps)

    step, running = 0, 0.0
    while step < args.steps:
        for img, lab in train:
            loss = seg_loss(model(img), lab)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            running = loss.item() if step == 0 else 0.9 * running + 0.1 * loss.item()
            step += 1
            if step % 40 == 0:
                print(f"step {step} loss {running:.4f} val mIoU {mean_iou(model, val):.4f}")
            if step >= args.steps:
                break
    print(f"EVIDENCE val_miou={mean_iou(model, val):.4f} train_loss={running:.4f}")


if __name__ == "__main__":
    main()
