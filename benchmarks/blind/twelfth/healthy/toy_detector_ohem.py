"""Toy one-stage detector: none to four boxes a picture, grid predictions, online hard negative mining, NMS."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE, GRID = 32, 8
STRIDE = SIZE // GRID


def make_image(gen):
    img = 0.15 * torch.randn(1, SIZE, SIZE, generator=gen)
    boxes, taken = [], set()
    for _ in range(int(torch.randint(0, 5, (), generator=gen))):
        w, h = torch.randint(5, 11, (2,), generator=gen).tolist()
        x = int(torch.randint(0, SIZE - w + 1, (), generator=gen))
        y = int(torch.randint(0, SIZE - h + 1, (), generator=gen))
        cell = (int(y + h / 2) // STRIDE, int(x + w / 2) // STRIDE)
        if any(x < b[2] + 1 and b[0] < x + w + 1 and y < b[3] + 1 and b[1] < y + h + 1 for b in boxes) or cell in taken:
            continue
        taken.add(cell)
        img[:, y:y + h, x:x + w] += 0.6 + 0.4 * torch.rand((), generator=gen)
        boxes.append([x, y, x + w, y + h])
    return img, torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4)


def encode(batch_boxes):
    obj = torch.zeros(len(batch_boxes), GRID, GRID)
    reg = torch.zeros(len(batch_boxes), GRID, GRID, 4)
    for i, boxes in enumerate(batch_boxes):
        for x0, y0, x1, y1 in boxes.tolist():
            cx, cy = (x0 + x1) / 2 / STRIDE, (y0 + y1) / 2 / STRIDE
            r, c = int(cy), int(cx)
            obj[i, r, c] = 1
            reg[i, r, c] = torch.tensor([cx - c, cy - r, (x1 - x0) / 8, (y1 - y0) / 8])
    return obj, reg


def decode(obj, reg, threshold=0.5):
    r, c = torch.nonzero(obj.sigmoid() > threshold, as_tuple=True)
    t = reg[r, c]
    cx, cy, w, h = (t[:, 0] + c) * STRIDE, (t[:, 1] + r) * STRIDE, t[:, 2] * 8, t[:, 3] * 8
    return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], 1), obj[r, c].sigmoid()


def iou(a, b):
    lt, rb = torch.maximum(a[:, None, :2], b[None, :, :2]), torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(2)
    area = lambda z: (z[:, 2:] - z[:, :2]).clamp(min=0).prod(1)
    return inter / (area(a)[:, None] + area(b)[None, :] - inter + 1e-6)


def nms(boxes, scores, limit=0.4):
    keep, order = [], scores.argsort(descending=True)
    while len(order):
        keep.append(order[0].item())
        order = order[1:][iou(boxes[order[:1]], boxes[order[1:]])[0] < limit]
    return boxes[keep]


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        layer = lambda i, o, s: nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))
        self.backbone = nn.Sequential(layer(1, 16, 2), layer(16, 32, 2), layer(32, 32, 1), layer(32, 32, 1))
        self.obj, self.reg = nn.Conv2d(32, 1, 1), nn.Conv2d(32, 4, 1)
        nn.init.constant_(self.obj.bias, -2.0)

    def forward(self, x):
        h = self.backbone(x)
        return self.obj(h).squeeze(1), self.reg(h).permute(0, 2, 3, 1)


def detection_loss(obj, reg, obj_t, reg_t, ratio=3):
    bce = F.binary_cross_entropy_with_logits(obj, obj_t, reduction="none")
    pos = obj_t > 0
    n_pos = int(pos.sum())
    n_neg = max(ratio * n_pos, 16)
    hard = bce[~pos].topk(min(n_neg, int((~pos).sum()))).values
    loss_obj = (bce[pos].sum() + hard.sum()) / (n_pos + len(hard))
    loss_reg = F.smooth_l1_loss(reg[pos], reg_t[pos], beta=0.1) if n_pos else reg.sum() * 0
    return loss_obj, loss_reg, n_pos


@torch.no_grad()
def evaluate(model, images, boxes):
    model.eval()
    tp = n_pred = n_true = 0
    for o, r, true in zip(*model(images), boxes):
        pred = nms(*decode(o, r))
        if len(pred) and len(true):
            tp += (iou(pred, true).max(0).values > 0.5).sum().item()
        n_pred, n_true = n_pred + len(pred), n_true + len(true)
    return tp / max(n_pred, 1), tp / n_true


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    train = [make_image(gen) for _ in range(600)]
    test = [make_image(gen) for _ in range(150)]
    model = Detector()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps)
    for step in range(1, args.steps + 1):
        model.train()
        picks = [train[i] for i in torch.randint(len(train), (16,)).tolist()]
        obj_t, reg_t = encode([b for _, b in picks])
        obj, reg = model(torch.stack([i for i, _ in picks]))
        loss_obj, loss_reg, n_pos = detection_loss(obj, reg, obj_t, reg_t)
        loss = loss_obj + 2.0 * loss_reg
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 50 == 0:
            precision, recall = evaluate(model, torch.stack([i for i, _ in test]), [b for _, b in test])
            print(f"step {step}: obj {loss_obj.item():.3f} reg {loss_reg.item():.4f} ({n_pos} boxes) "
                  f"precision {precision:.3f} recall {recall:.3f}")
# SPDX-License-Identifier: Apache-2.0
