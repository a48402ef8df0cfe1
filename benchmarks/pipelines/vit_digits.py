"""A vision transformer on digits: truncated normal initialisation by apply, warm-up and cosine by steps, mixup."""

import math

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from options import options


class ViT(nn.Module):
    def __init__(self, dim, depth=2, heads=4, patch=2, classes=10):
        super().__init__()
        self.patch_embed = nn.Conv2d(1, dim, patch, stride=patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, (8 // patch) ** 2 + 1, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        nn.init.trunc_normal_(self.cls_token, std=0.02)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=0.05)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1) + self.pos_embed
        return self.head(self.norm(self.encoder(x))[:, 0])


def mixup(x, y, alpha):
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    perm = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[perm], lam * y + (1 - lam) * y[perm]


def adjust_learning_rate(step, warmup, total):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


def main():
    args = options(lr=3e-3, width=32, steps=40)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
    y = torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=140, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=200)
    model = ViT(args.width)
    no_decay = [p for n, p in model.named_parameters() if p.ndim == 1 or "token" in n or "pos" in n]
    ids = {id(p) for p in no_decay}
    decay = [p for p in model.parameters() if id(p) not in ids]
    optimizer = torch.optim.AdamW([{"params": decay}, {"params": no_decay, "weight_decay": 0.0}], lr=args.lr)
    epochs = max(2, args.steps // len(loader))
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: adjust_learning_rate(s, len(loader), epochs * len(loader))
    )
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        for images, labels in loader:
            images, target = mixup(images, nn.functional.one_hot(labels, 10).float(), 0.2)
            optimizer.zero_grad()
            loss = criterion(model(images), target)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 3.0)
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            correct = sum((model(a).argmax(-1) == b).sum().item() for a, b in val_loader)
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {correct / 397:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
