"""Pretrain a CNN on clean digits, freeze the backbone, add a head for a shifted domain."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Backbone(nn.Sequential):
    def __init__(self, width=24):
        super().__init__(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.out_features = 8 * width


class MultiHeadNet(nn.Module):
    """One shared backbone, one linear head per task."""

    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.heads = nn.ModuleDict({"clean": nn.Linear(self.backbone.out_features, 10)})
        self.backbone_frozen = False

    def add_task(self, name, classes):
        self.heads[name] = nn.Linear(self.backbone.out_features, classes)

    def freeze_backbone(self):
        self.backbone_frozen = True
        for p in self.backbone.parameters():
            p.requires_grad_(False)
        self.backbone.eval()

    def train(self, mode=True):
        super().train(mode)
        if self.backbone_frozen:
            self.backbone.eval()
        return self

    def forward(self, x, task):
        return self.heads[task](self.backbone(x))


def load_domains(seed):
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    perm = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x[perm], y[perm]
    shifted = 1.0 - 0.5 * x
    parity = y % 2
    clean = {"train": (x[:1000], y[:1000]), "test": (x[1400:], y[1400:])}
    night = {"train": (shifted[1000:1400], parity[1000:1400]), "test": (shifted[1400:], parity[1400:])}
    return clean, night


def batches(data, batch_size, steps):
    x, y = data
    for _ in range(steps):
        idx = torch.randint(0, len(x), (batch_size,))
        yield x[idx], y[idx]


@torch.no_grad()
def accuracy(model, data, task):
    model.eval()
    x, y = data
    return (model(x, task).argmax(1) == y).float().mean().item()


def fit(model, data, task, steps, lr, batch_size=64, log_every=20):
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=lr, weight_decay=1e-3)
    epoch_len = 10
    for step, (x, y) in enumerate(batches(data["train"], batch_size, steps)):
        if step % epoch_len == 0:
            model.train()
        loss = F.cross_entropy(model(x, task), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % log_every == 0:
            print(f"[{task}] step {step:3d} loss {loss.item():.4f}")
        if (step + 1) % epoch_len == 0:
            acc = accuracy(model, data["test"], task)
            if (step + 1) % log_every == 0:
                print(f"[{task}] step {step:3d} test acc {acc:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--pretrain-steps", type=int, default=80)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    clean, night = load_domains(args.seed)
    model = MultiHeadNet()
    fit(model, clean, "clean", args.pretrain_steps, lr=3e-3)
    before = accuracy(model, clean["test"], "clean")
    print(f"clean accuracy after pretraining {before:.3f}")

    model.freeze_backbone()
    model.add_task("night", 2)
    fit(model, night, "night", args.steps, lr=args.lr)

    clean_acc = accuracy(model, clean["test"], "clean")
    night_acc = accuracy(model, night["test"], "night")
    print(f"clean accuracy {before:.3f} -> {clean_acc:.3f}")
    print(f"EVIDENCE clean_accuracy={clean_acc:.4f} night_accuracy={night_acc:.4f}")


if __name__ == "__main__":
    main()
