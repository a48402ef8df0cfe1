"""Stochastic weight averaging: a cosine in the first part, then a constant rate while weights are averaged."""
import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset


def build_model():
    return nn.Sequential(
        nn.Unflatten(1, (1, 8)), nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(24, 10),
    )


def get_data(seed):
    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x = torch.tensor(x, dtype=torch.float32)[order].view(-1, 8, 8) / 16
    y = torch.tensor(y)[order]
    train = DataLoader(TensorDataset(x[:900], y[:900]), batch_size=60, shuffle=True)
    test = DataLoader(TensorDataset(x[900:], y[900:]), batch_size=300)
    return train, test


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss = right = count = 0
    for x, y in loader:
        logits = model(x)
        loss += nn.functional.cross_entropy(logits, y, reduction="sum").item()
        right += (logits.argmax(1) == y).sum().item()
        count += len(y)
    return loss / count, right / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train, test = get_data(args.seed)
    epochs = max(4, args.steps // len(train))
    swa_start = epochs // 2
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = CosineAnnealingLR(optimizer, T_max=epochs)
    swa_model = AveragedModel(model)
    swa_scheduler = SWALR(optimizer, swa_lr=args.lr / 2, anneal_epochs=2, anneal_strategy="linear")
    rates = []
    for epoch in range(epochs):
        model.train()
        rates.append(optimizer.param_groups[0]["lr"])
        for x, y in train:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch >= swa_start:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        else:
            scheduler.step()
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1}: rate {rates[-1]:.4f}, loss {loss.item():.4f}, test {evaluate(model, test)[1]:.4f}")
    update_bn(train, swa_model)
    swa_loss, swa_right = evaluate(swa_model, test)
    print(f"EVIDENCE rate in the last epoch {rates[-1]:.6f}, averaged model: loss {swa_loss:.4f}, right {swa_right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
