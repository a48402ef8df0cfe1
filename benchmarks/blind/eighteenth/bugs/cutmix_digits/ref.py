"""Small conv net on the 8x8 digits, trained with CutMix."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def get_data(seed):
    d = load_digits()
    x = (d.images / 16.0).astype(np.float32)[:, None]
    x = (x - x.mean()) / x.std()
    xtr, xte, ytr, yte = train_test_split(x, d.target, test_size=0.3, random_state=seed, stratify=d.target)
    return [torch.as_tensor(a) for a in (xtr, xte, ytr, yte)]


class RandomCutMix:
    """Pastes a box of a shuffled copy of the batch; returns both label sets and their weight."""

    def __init__(self, alpha=1.0, p=0.8, rng=None):
        self.alpha = alpha
        self.p = p
        self.rng = rng or np.random.default_rng()

    def sample_box(self, height, width):
        ratio = np.sqrt(1.0 - self.rng.beta(self.alpha, self.alpha))
        cut_h, cut_w = int(round(height * ratio)), int(round(width * ratio))
        cy, cx = self.rng.integers(height), self.rng.integers(width)
        y1, y2 = np.clip([cy - cut_h // 2, cy - cut_h // 2 + cut_h], 0, height)
        x1, x2 = np.clip([cx - cut_w // 2, cx - cut_w // 2 + cut_w], 0, width)
        return int(y1), int(y2), int(x1), int(x2)

    def __call__(self, images, labels):
        if self.rng.random() >= self.p:
            return images, labels, labels, 1.0
        perm = torch.randperm(images.size(0))
        height, width = images.shape[-2:]
        y1, y2, x1, x2 = self.sample_box(height, width)
        mixed = images.clone()
        mixed[:, :, y1:y2, x1:x2] = images[perm, :, y1:y2, x1:x2]
        area = (y2 - y1) * (x2 - x1) / (height * width)
        lam = 1.0 - area
        return mixed, labels, labels[perm], lam


class ConvNet(nn.Module):
    def __init__(self, num_classes=10, c=24):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(),
            nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(2 * c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.fc = nn.Linear(2 * c * 16, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def mix_loss(logits, target_a, target_b, lam):
    return lam * F.cross_entropy(logits, target_a) + (1.0 - lam) * F.cross_entropy(logits, target_b)


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    model.train()
    return (logits.argmax(1) == y).float().mean().item(), F.cross_entropy(logits, y).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    xtr, xte, ytr, yte = get_data(args.seed)
    cutmix = RandomCutMix(rng=np.random.default_rng(args.seed))
    model = ConvNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=args.steps)

    for step in range(args.steps):
        idx = torch.randint(0, len(xtr), (args.batch_size,))
        images, ya, yb, lam = cutmix(xtr[idx], ytr[idx])
        loss = mix_loss(model(images), ya, yb, lam)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e}")

    acc, nll = evaluate(model, xte, yte)
    print(f"EVIDENCE test_acc={acc:.4f} test_nll={nll:.4f}")


if __name__ == "__main__":
    main()
