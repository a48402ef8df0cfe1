"""A small U-Net segments discs and bars in noisy images: bf16 autocast, Dice plus cross-entropy, one-cycle rate."""

import argparse
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=8e-3)
parser.add_argument("--steps", type=int, default=4, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

SIZE, CLASSES = 32, 3


class Shapes(Dataset):
    """Images are drawn once; the training split flips them at random."""

    def __init__(self, n, augment, seed):
        g = torch.Generator().manual_seed(seed)
        self.augment = augment
        yy, xx = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
        self.images, self.masks = [], []
        for _ in range(n):
            mask = torch.zeros(SIZE, SIZE, dtype=torch.long)
            if torch.rand((), generator=g) < 0.85:
                top, left = torch.randint(2, 22, (2,), generator=g).tolist()
                w = torch.randint(3, 6, (), generator=g).item()
                mask[top:top + 3 * w, left:left + w] = 2
            cy, cx = torch.randint(7, 25, (2,), generator=g).tolist()
            radius = torch.randint(3, 7, (), generator=g).item()
            mask[(yy - cy) ** 2 + (xx - cx) ** 2 <= radius ** 2] = 1
            image = 0.9 * (mask == 1) - 0.7 * (mask == 2) + 0.4 * torch.randn(SIZE, SIZE, generator=g)
            self.images.append(image.unsqueeze(0))
            self.masks.append(mask)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if self.augment and torch.rand(()) < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        if self.augment and torch.rand(()) < 0.5:
            image, mask = image.flip(-2), mask.flip(-2)
        return image, mask


def block(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.GroupNorm(4, c_out), nn.SiLU(),
                         nn.Conv2d(c_out, c_out, 3, padding=1, bias=False), nn.GroupNorm(4, c_out), nn.SiLU())


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down1, self.down2 = block(1, width), block(width, 2 * width)
        self.middle = block(2 * width, 2 * width)
        self.up2, self.up1 = block(4 * width, width), block(2 * width, width)
        self.head = nn.Conv2d(width, CLASSES, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        b = self.up2(torch.cat([F.interpolate(c, scale_factor=2), b], dim=1))
        a = self.up1(torch.cat([F.interpolate(b, scale_factor=2), a], dim=1))
        return self.head(a)


def dice_loss(logits, target, smooth=1.0):
    prob = logits.softmax(dim=1)
    hot = F.one_hot(target, CLASSES).permute(0, 3, 1, 2).float()
    inter = (prob * hot).sum(dim=(0, 2, 3))
    total = prob.sum(dim=(0, 2, 3)) + hot.sum(dim=(0, 2, 3))
    return 1 - ((2 * inter + smooth) / (total + smooth)).mean()


@torch.no_grad()
def mean_iou(model, loader):
    model.eval()
    inter, union = torch.zeros(CLASSES), torch.zeros(CLASSES)
    for image, mask in loader:
        pred = model(image).argmax(1)
        for c in range(CLASSES):
            inter[c] += ((pred == c) & (mask == c)).sum()
            union[c] += ((pred == c) | (mask == c)).sum()
    return (inter / union.clamp(min=1)).mean().item()


train_loader = DataLoader(Shapes(240, True, args.seed), batch_size=12, shuffle=True)
val_loader = DataLoader(Shapes(60, False, args.seed + 1000), batch_size=30)
model = UNet()
weights = torch.tensor([0.5, 1.0, 1.0])
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, epochs=args.steps,
                                                steps_per_epoch=len(train_loader))
best = 0.0
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "best.pt")
    for epoch in range(args.steps):
        model.train()
        for image, mask in train_loader:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(image)
            logits = logits.float()
            loss = F.cross_entropy(logits, mask, weight=weights) + dice_loss(logits, mask)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
        iou = mean_iou(model, val_loader)
        print(f"epoch {epoch} loss {loss.item():.3f} val mIoU {iou:.3f}")
        if iou > best:
            best = iou
            torch.save(model.state_dict(), path)
    model.load_state_dict(torch.load(path))
print(f"best checkpoint: mIoU {mean_iou(model, val_loader):.3f}")
