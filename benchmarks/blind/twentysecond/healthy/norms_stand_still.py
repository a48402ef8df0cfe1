"""Fine-tuning with batch norm in eval mode and a frozen stem: few rows, so the statistics of pre-training are kept."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.BatchNorm2d(32), nn.ReLU())
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3)))

    def freeze_norms(self):
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
                module.requires_grad_(False)


def fit(model, x, y, lr, steps, frozen):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    for _ in range(steps):
        model.train()
        if frozen:
            model.freeze_norms()
        rows = torch.randint(0, len(x), (8 if frozen else 64,))
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    digits = load_digits()
    x, y = torch.tensor(digits.images / 16.0, dtype=torch.float32)[:, None], torch.tensor(digits.target)
    low, high = y < 5, y >= 5
    model = DigitNet()
    first = fit(model, x[low], y[low], args.lr, args.steps, frozen=False)
    model.head = nn.Linear(32, 5)
    model.stem.requires_grad_(False)
    model.freeze_norms()
    few_x, few_y = x[high][:60], y[high][:60] - 5
    second = fit(model, few_x, few_y, args.lr, args.steps, frozen=True)
    model.eval()
    with torch.no_grad():
        right = (model(x[high][60:]).argmax(1) == y[high][60:] - 5).float().mean().item()
    print(f"RESULT pretrained={first:.4f} tuned={second:.4f} accuracy={right:.3f}")


if __name__ == "__main__":
    main()
