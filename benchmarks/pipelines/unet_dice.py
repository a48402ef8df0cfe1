"""A small U-Net finds discs and squares: Dice and cross-entropy on softmax over channels, evaluation without no_grad."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options

CLASSES = ["background", "disc", "square"]
SIZE = 24


def make_scenes(n):
    """Noisy images with one disc and one square each, and the class of each pixel."""
    rows, columns = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    at, radius = torch.randint(4, SIZE - 4, (n, 2, 2, 1, 1)), torch.randint(2, 5, (n, 2, 1, 1))
    down, right = (rows - at[:, :, 0]).abs(), (columns - at[:, :, 1]).abs()
    disc = down[:, 0] ** 2 + right[:, 0] ** 2 <= radius[:, 0] ** 2
    square = torch.maximum(down[:, 1], right[:, 1]) <= radius[:, 1]
    masks = torch.where(square, 2, torch.where(disc, 1, 0))
    images = (masks > 0).float() + 0.3 * torch.randn(n, SIZE, SIZE)
    return TensorDataset(images[:, None], masks)


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.enc1, self.enc2, self.bottom = block(1, width), block(width, 2 * width), block(2 * width, 4 * width)
        self.dec2, self.dec1 = block(6 * width, 2 * width), block(3 * width, width)
        self.dropout = nn.Dropout2d(0.1)
        self.head = nn.Conv2d(width, len(CLASSES), 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        c = self.dropout(self.bottom(F.max_pool2d(b, 2)))
        b = self.dec2(torch.cat([F.interpolate(c, scale_factor=2.0), b], dim=1))
        return self.head(self.dec1(torch.cat([F.interpolate(b, scale_factor=2.0), a], dim=1)))


def dice_per_class(probabilities, masks):
    wanted = F.one_hot(masks, len(CLASSES)).permute(0, 3, 1, 2)
    common = (probabilities * wanted).sum(dim=(0, 2, 3))
    return (2 * common + 1) / (probabilities.sum(dim=(0, 2, 3)) + wanted.sum(dim=(0, 2, 3)) + 1)


def criterion(logits, masks):
    dice = dice_per_class(torch.softmax(logits, dim=1), masks)
    return F.cross_entropy(logits, masks) + 1 - dice[1:].mean()


def validate(model, loader):
    model.eval()
    scores = []
    for images, masks in loader:
        found = model(images).argmax(dim=1)
        scores.append(dice_per_class(F.one_hot(found, len(CLASSES)).permute(0, 3, 1, 2), masks))
    return torch.stack(scores).mean(dim=0).tolist()


def main():
    args = options(lr=5e-3, width=8, steps=48)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train_loader = DataLoader(make_scenes(192), batch_size=16, shuffle=True, drop_last=True)
    val_loader = DataLoader(make_scenes(64), batch_size=32)
    model = UNet(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    epochs = max(2, args.steps // len(train_loader))
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=epochs * len(train_loader), power=0.9)
    for epoch in range(epochs):
        model.train()
        for images, masks in train_loader:
            loss = criterion(model(images), masks)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
        dice = validate(model, val_loader)
        print(f"epoch {epoch}: loss {loss.item():.3f}, " + ", ".join(f"{c} {d:.3f}" for c, d in zip(CLASSES, dice)))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
