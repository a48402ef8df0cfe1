"""Convolutional classifier for the digits images with warm-up and cosine decay."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def conv_block(n_in, n_out, stride):
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False),
        nn.GroupNorm(4, n_out),
        nn.GELU(),
    )


def build_model(width=16, n_classes=10):
    stem = conv_block(1, width, 1)
    stage1 = conv_block(width, 2 * width, 2)
    stage2 = conv_block(2 * width, 2 * width, 1)
    stage3 = conv_block(2 * width, 4 * width, 2)
    head = nn.Linear(4 * width, n_classes)
    return nn.Sequential(stem, stage1, stage2, stage3, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)


def load():
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16 - 0.3
    y = torch.tensor(digits.target)
    return train_test_split(x, y, test_size=0.25, random_state=0)


def lr_at(step, total, warmup, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return 0.5 * peak * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=140)
    args = parser.parse_args()
    torch.set_num_threads(1)

    x_train, x_test, y_train, y_test = load()
    torch.manual_seed(args.seed)
    model = build_model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    gen = torch.Generator().manual_seed(args.seed)
    for step in range(args.steps):
        for group in opt.param_groups:
            group["lr"] = lr_at(step, args.steps, 20, 0.1)
        idx = torch.randint(0, len(x_train), (64,), generator=gen)
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx], label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"test accuracy {acc:.4f}")


if __name__ == "__main__":
    main()
