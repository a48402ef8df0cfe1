"""Mixed precision with a GradScaler on the CPU: unscale, clip, step, update."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


class ConvNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.GroupNorm(4, width), nn.SiLU(), nn.AvgPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.GroupNorm(4, 2 * width), nn.SiLU(), nn.AdaptiveAvgPool2d(1),
        )  # fmt: skip
        self.classifier = nn.Linear(2 * width, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def main():
    args = options(lr=5e-3, width=16, steps=42)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(digits.target)
    train_loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=100, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=200)
    model = ConvNet(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    epochs = max(2, args.steps // len(train_loader))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(train_loader))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for epoch in range(epochs):
        model.train()
        for images, labels in train_loader:
            optimizer.zero_grad(set_to_none=True)
            with torch.amp.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
        model.eval()
        correct = 0
        with torch.no_grad():
            for images, labels in test_loader:
                with torch.amp.autocast("cpu", dtype=torch.bfloat16):
                    correct += (model(images).argmax(1) == labels).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {correct / 397:.3f}, scale {scaler.get_scale()}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
