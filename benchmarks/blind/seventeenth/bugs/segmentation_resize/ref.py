"""Semantic segmentation of synthetic scenes with random resized crops."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_CLASSES = 4
IGNORE = -1


def make_scenes(count, gen, size=24):
    """Background 0, disk 1, box 2, rim of the disk 3; a few scribbled pixels are unlabeled."""
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    images = torch.zeros(count, 1, size, size)
    masks = torch.zeros(count, size, size, dtype=torch.long)
    for i in range(count):
        bx, by = torch.randint(0, size - 8, (2,), generator=gen).tolist()
        bw, bh = torch.randint(5, 9, (2,), generator=gen).tolist()
        masks[i, by:by + bh, bx:bx + bw] = 2
        cx, cy = torch.randint(5, size - 5, (2,), generator=gen).tolist()
        radius = float(torch.randint(4, 7, (1,), generator=gen))
        dist = ((xx - cx) ** 2 + (yy - cy) ** 2).float().sqrt()
        masks[i][dist <= radius] = 1
        masks[i][(dist > radius - 1.2) & (dist <= radius)] = 3
    levels = torch.tensor([0.35, 1.0, 0.0, 0.7])
    images[:, 0] = levels[masks]
    unlabeled = torch.rand(masks.shape, generator=gen) < 0.03
    masks[unlabeled] = IGNORE
    return images, masks


class RandomResizedCrop:
    def __init__(self, size=24, scales=(1.0, 1.25, 1.5, 1.75), noise=0.08):
        self.size = size
        self.scales = scales
        self.noise = noise

    def __call__(self, images, masks):
        scale = self.scales[torch.randint(0, len(self.scales), (1,)).item()]
        new = int(round(self.size * scale))
        images = F.interpolate(images, size=(new, new), mode="bilinear")
        masks = F.interpolate(masks[:, None].float(), size=(new, new), mode="nearest-exact")
        top, left = torch.randint(0, new - self.size + 1, (2,)).tolist()
        window = (slice(top, top + self.size), slice(left, left + self.size))
        images = images[:, :, window[0], window[1]]
        masks = masks[:, 0, window[0], window[1]].round().long()
        if torch.rand(1).item() < 0.5:
            images, masks = images.flip(-1), masks.flip(-1)
        return images + self.noise * torch.randn_like(images), masks


class ConvBlock(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(
            nn.Conv2d(cin, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
        )


class TinyUNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down1 = ConvBlock(1, width)
        self.down2 = ConvBlock(width, 2 * width)
        self.mid = ConvBlock(2 * width, 2 * width)
        self.up = ConvBlock(3 * width, width)
        self.head = nn.Conv2d(width, NUM_CLASSES, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.mid(self.down2(F.max_pool2d(a, 2)))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.head(self.up(torch.cat([a, b], dim=1)))


@torch.no_grad()
def mean_iou(model, images, masks):
    model.eval()
    pred = model(images).argmax(1)
    valid = masks != IGNORE
    ious = []
    for c in range(NUM_CLASSES):
        p, t = (pred == c) & valid, (masks == c) & valid
        ious.append((p & t).sum().item() / max((p | t).sum().item(), 1))
    model.train()
    return sum(ious) / len(ious), ious


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=24)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 17)

    train_x, train_y = make_scenes(200, gen)
    test_x, test_y = make_scenes(100, gen)
    test_x = test_x + 0.08 * torch.randn(test_x.shape, generator=gen)
    transform = RandomResizedCrop()
    model = TinyUNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)

    for step in range(args.steps):
        idx = torch.randint(0, len(train_x), (args.batch_size,))
        x, y = transform(train_x[idx], train_y[idx])
        loss = F.cross_entropy(model(x), y, ignore_index=IGNORE)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:3d}  loss {loss.item():.4f}  lr {scheduler.get_last_lr()[0]:.2e}")

    miou, per_class = mean_iou(model, test_x, test_y)
    print("iou per class: " + " ".join(f"{v:.3f}" for v in per_class))
    print(f"EVIDENCE mean_iou={miou:.4f} rim_iou={per_class[3]:.4f}")


if __name__ == "__main__":
    main()
