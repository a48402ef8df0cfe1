"""float16 autocast with a loss scale that starts too high: the scaler skips steps until the gradients are finite."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.fc2(F.relu(self.fc1(self.norm(x))))


def main():
    args = options(lr=5e-3, width=64, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:1440], y[:1440]), batch_size=96, shuffle=True)
    blocks = [Residual(args.width) for _ in range(2)]
    model = nn.Sequential(nn.Linear(64, args.width), *blocks, nn.Linear(args.width, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    epochs = max(2, args.steps // len(loader))
    total = epochs * len(loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / total)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**28, growth_interval=20)
    for epoch in range(epochs):
        model.train()
        skipped = 0
        for xb, yb in loader:
            with torch.autocast("cpu", dtype=torch.float16):
                logits = model(xb)
            loss = F.cross_entropy(logits.float(), yb)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scale = scaler.get_scale()
            scaler.update()
            skipped += scaler.get_scale() < scale
            scheduler.step()
        model.eval()
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.float16):
            accuracy = (model(x[1440:]).argmax(1) == y[1440:]).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy:.3f}, scale {scale:.0f}, skipped {skipped}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
