"""One box for one object on wide pictures: a small detector whose targets are parts of the picture's width and height."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=160)
HEIGHT, WIDTH = 24, 48


class Boxes(Dataset):
    """A bright rectangle on noise; boxes are x1, y1, x2, y2 in pixels."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.images = 0.3 * torch.randn(count, 1, HEIGHT, WIDTH, generator=g)
        self.boxes = torch.zeros(count, 4)
        for k in range(count):
            w = int(torch.randint(6, 20, (), generator=g))
            h = int(torch.randint(5, 12, (), generator=g))
            x = int(torch.randint(0, WIDTH - w, (), generator=g))
            y = int(torch.randint(0, HEIGHT - h, (), generator=g))
            self.images[k, 0, y:y + h, x:x + w] += 1
            self.boxes[k] = torch.tensor([x, y, x + w, y + h])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        _, h, w = image.shape
        x1, y1, x2, y2 = self.boxes[index]
        target = torch.stack([(x1 + x2) / 2 / w, (y1 + y2) / 2 / h, (x2 - x1) / w, (y2 - y1) / h])
        return image, target, self.boxes[index]


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(24 * 6 * 12, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.head(self.backbone(x)).sigmoid()


def to_pixels(boxes):
    cx, cy, w, h = (boxes * torch.tensor([WIDTH, HEIGHT, WIDTH, HEIGHT])).unbind(1)
    return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], 1)


def overlap(a, b):
    low, high = torch.max(a[:, :2], b[:, :2]), torch.min(a[:, 2:], b[:, 2:])
    inner = (high - low).clamp(min=0).prod(1)
    return inner / ((a[:, 2:] - a[:, :2]).prod(1) + (b[:, 2:] - b[:, :2]).prod(1) - inner)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    found = torch.cat([overlap(to_pixels(model(images)), boxes) for images, _, boxes in loader])
    model.train()
    return found.mean().item(), (found > 0.5).float().mean().item()


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train = DataLoader(Boxes(800, args.seed), batch_size=40, shuffle=True)
    valid = DataLoader(Boxes(200, args.seed + 1000), batch_size=100)
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for images, targets, _ in train:
            loss = F.smooth_l1_loss(model(images), targets, beta=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 40 == 0:
                print(f"step {step}: loss {loss.item():.5f}, mean overlap {evaluate(model, valid)[0]:.4f}")
            if step == args.steps:
                break
    mean, found = evaluate(model, valid)
    print(f"EVIDENCE mean overlap {mean:.4f}, found {found:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
