"""Adapt a small frozen digit classifier to inverted, shifted digits with low-rank adapters."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class LoRALayer(nn.Module):
    def __init__(self, linear, rank, alpha, dropout=0.05):
        super().__init__()
        self.original = linear
        self.dropout = nn.Dropout(dropout)
        std = 1 / rank**0.5
        self.A = nn.Parameter(torch.randn(linear.in_features, rank) * std)
        self.B = nn.Parameter(torch.zeros(rank, linear.out_features))
        self.scale = alpha / rank

    def forward(self, x):
        y = self.original(x)
        update = self.dropout(x) @ self.A @ self.B
        return y + self.scale * update


def build_base():
    return nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)
    )


def load_data():
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16
    y = torch.tensor(digits.target)
    return x, y


def target_domain(x):
    img = 1 - x.view(-1, 8, 8)
    return torch.roll(img, shifts=(1, 2), dims=(1, 2)).reshape(-1, 64)


def fit(model, params, x, y, steps, lr, tag):
    opt = torch.optim.Adam(params, lr=lr)
    for step in range(steps):
        idx = torch.randint(0, len(x), (64,))
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"{tag} step {step} loss {loss.item():.6f}")


def add_adapters(model, rank, alpha):
    for i, layer in enumerate(model):
        if isinstance(layer, nn.Linear):
            model[i] = LoRALayer(layer, rank, alpha)
    return [p for n, p in model.named_parameters() if n.endswith((".A", ".B"))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=16)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    x, y = load_data()
    model = build_base()
    fit(model, model.parameters(), x, y, 300, 2e-3, "base")
    model.requires_grad_(False)
    params = add_adapters(model, args.rank, args.alpha)
    fit(model, params, target_domain(x), y, args.steps, 1e-3, "lora")


if __name__ == "__main__":
    main()
