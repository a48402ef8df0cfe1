"""Finds one digit pasted on a cluttered canvas: class and box (cx, cy, w, h)."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

CANVAS = 24
UNIT = 8.0


class DigitScenes(torch.utils.data.Dataset):
    """noisy: a few boxes come in the coordinates of the full-size scan, as in the crowd-sourced labels."""

    def __init__(self, n, seed, digits, noisy=False):
        rng = np.random.default_rng(seed)
        self.items = [self.compose(rng, digits, noisy) for _ in range(n)]

    @staticmethod
    def compose(rng, digits, noisy):
        k = rng.integers(len(digits.images))
        canvas = rng.random((CANVAS, CANVAS)).astype(np.float32) * 0.3
        scale = int(rng.integers(1, 3))
        patch = np.kron(digits.images[k] / 16.0, np.ones((scale, scale))).astype(np.float32)
        s = patch.shape[0]
        y, x = rng.integers(0, CANVAS - s + 1, 2)
        canvas[y:y + s, x:x + s] += patch
        box = np.array([x + s / 2, y + s / 2, s, s], dtype=np.float32) / UNIT
        if noisy and rng.random() < 0.03:
            box *= 10.0
        return torch.from_numpy(canvas)[None], torch.from_numpy(box), int(digits.target[k])

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Detector(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, c, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(c, 2 * c, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(2 * c, 2 * c, 3, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(2 * c * 36, 96), nn.ReLU())
        self.cls = nn.Linear(96, 10)
        self.box = nn.Linear(96, 4)

    def forward(self, x):
        h = self.body(x)
        return self.cls(h), self.box(h)


def box_iou(a, b):
    lt = torch.maximum(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    rb = torch.minimum(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    inter = (rb - lt).clamp(min=0).prod(1)
    return inter / (a[:, 2:].clamp(min=0).prod(1) + b[:, 2:].prod(1) - inter).clamp(min=1e-6)


class Trainer:
    def __init__(self, model, args):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
        self.max_norm = args.max_norm

    def training_step(self, batch):
        images, boxes, labels = batch
        logits, pred = self.model(images)
        cls_loss = F.cross_entropy(logits, labels)
        box_loss = F.mse_loss(pred, boxes)
        loss = cls_loss + box_loss
        return loss

    def fit(self, loader, steps):
        step = 0
        while step < steps:
            for batch in loader:
                self.optimizer.zero_grad()
                loss = self.training_step(batch)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
                self.optimizer.step()
                if step % 20 == 0 or step == steps - 1:
                    print(f"step {step:4d} loss {loss.item():.4f}")
                step += 1
                if step == steps:
                    return

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        ious, errs = [], []
        for images, boxes, _ in loader:
            _, pred = self.model(images)
            ious.append(box_iou(pred, boxes))
            errs.append((pred - boxes).abs().mean(1) * UNIT)
        self.model.train()
        return torch.cat(ious).mean().item(), torch.cat(errs).mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.03)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--max-norm", type=float, default=1.0)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    digits = load_digits()
    train = DigitScenes(1024, args.seed, digits, noisy=True)
    val = DigitScenes(256, 777 + args.seed, digits)
    loader = torch.utils.data.DataLoader(train, batch_size=32, shuffle=True, drop_last=True)
    val_loader = torch.utils.data.DataLoader(val, batch_size=64)

    trainer = Trainer(Detector(), args)
    trainer.fit(loader, args.steps)
    iou, err = trainer.validate(val_loader)
    print(f"EVIDENCE mean_iou={iou:.4f} box_l1_px={err:.4f}")


if __name__ == "__main__":
    main()
