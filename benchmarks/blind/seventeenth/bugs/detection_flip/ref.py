"""Anchor-free detector (one cell per object centre, l/t/r/b regression) on synthetic images."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

GRID = 8
STRIDE = 4
SIZE = GRID * STRIDE


def make_dataset(count, gen):
    """Each image holds one bright filled box (class 0) or a hollow frame (class 1)."""
    images = 0.15 * torch.randn(count, 1, SIZE, SIZE, generator=gen)
    boxes = torch.zeros(count, 4)
    labels = torch.randint(0, 2, (count,), generator=gen)
    for i in range(count):
        w, h = torch.randint(7, 17, (2,), generator=gen).tolist()
        x = torch.randint(0, SIZE - w, (1,), generator=gen).item()
        y = torch.randint(0, SIZE - h, (1,), generator=gen).item()
        images[i, 0, y:y + h, x:x + w] += 1.0
        if labels[i] == 1:
            images[i, 0, y + 2:y + h - 2, x + 2:x + w - 2] -= 1.0
        boxes[i] = torch.tensor([x, y, x + w, y + h], dtype=torch.float32) / SIZE
    return images, boxes, labels


def random_flip(images, boxes, p=0.5):
    """Mirror images and their x1, y1, x2, y2 boxes (normalised to [0, 1])."""
    flip = torch.rand(len(images)) < p
    images, boxes = images.clone(), boxes.clone()
    images[flip] = images[flip].flip(-1)
    x1, x2 = boxes[flip, 0], boxes[flip, 2]
    boxes[flip, 0] = 1.0 - x2
    boxes[flip, 2] = 1.0 - x1
    return images, boxes


def encode(boxes, labels):
    """Targets on the grid: the cell of the centre is positive and regresses l, t, r, b."""
    n = len(boxes)
    centers = (boxes[:, :2] + boxes[:, 2:]) / 2
    cells = (centers * GRID).long().clamp(0, GRID - 1)
    flat = cells[:, 1] * GRID + cells[:, 0]
    objectness = torch.zeros(n, GRID * GRID)
    objectness[torch.arange(n), flat] = 1.0
    points = (cells.float() + 0.5) / GRID
    ltrb = torch.cat([points - boxes[:, :2], boxes[:, 2:] - points], dim=1)
    return flat, objectness, ltrb, labels


def decode(flat, ltrb):
    px = (flat % GRID + 0.5) / GRID
    py = (flat // GRID + 0.5) / GRID
    return torch.stack([px - ltrb[:, 0], py - ltrb[:, 1], px + ltrb[:, 2], py + ltrb[:, 3]], dim=1)


def box_iou(a, b):
    lt = torch.maximum(a[:, :2], b[:, :2])
    rb = torch.minimum(a[:, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(1)
    area = lambda t: (t[:, 2:] - t[:, :2]).clamp(min=0).prod(1)
    return inter / (area(a) + area(b) - inter + 1e-9)


class Detector(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=2, dilation=2), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=2, dilation=2), nn.GroupNorm(4, width), nn.ReLU(),
        )
        self.head = nn.Conv2d(width, 1 + 2 + 4, 1)

    def forward(self, x):
        out = self.head(self.trunk(x)).flatten(2).transpose(1, 2)
        return out[..., 0], out[..., 1:3], out[..., 3:]


def detection_loss(outputs, targets):
    obj, cls, reg = outputs
    flat, objectness, ltrb, labels = targets
    rows = torch.arange(len(flat))
    obj_loss = F.binary_cross_entropy_with_logits(obj, objectness, pos_weight=torch.tensor(10.0))
    cls_loss = F.cross_entropy(cls[rows, flat], labels)
    reg_loss = F.smooth_l1_loss(reg[rows, flat], ltrb, beta=0.05)
    return obj_loss + 0.5 * cls_loss + 5.0 * reg_loss, reg_loss


@torch.no_grad()
def evaluate(model, images, boxes, labels):
    obj, cls, reg = model(images)
    best = obj.argmax(1)
    rows = torch.arange(len(images))
    iou = box_iou(decode(best, reg[rows, best]), boxes)
    correct = cls[rows, best].argmax(1) == labels
    return iou.mean().item(), ((iou > 0.5) & correct).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    train = make_dataset(600, gen)
    test = make_dataset(200, gen)

    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)
    for step in range(args.steps):
        idx = torch.randint(0, len(train[0]), (args.batch_size,))
        images, boxes = random_flip(train[0][idx], train[1][idx])
        loss, reg_loss = detection_loss(model(images), encode(boxes, train[2][idx]))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} loss {loss.item():.4f} reg {reg_loss.item():.4f}")

    iou, ap = evaluate(model, *test)
    print(f"EVIDENCE mean_iou={iou:.4f} detected_at_50={ap:.4f}")


if __name__ == "__main__":
    main()
