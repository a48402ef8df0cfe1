"""Stochastic weight averaging: the mean of many weights gets its batch norm statistics from a pass in train mode without gradients."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    digits = load_digits()
    x, y = torch.tensor(digits.images / 16.0, dtype=torch.float32)[:, None], torch.tensor(digits.target)
    data = TensorDataset(x[:1200], y[:1200])
    model = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 16, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    averaged, constant = AveragedModel(model), SWALR(optimizer, swa_lr=args.lr / 2, anneal_epochs=5)
    begin, step = args.steps // 2, 0
    while step < args.steps:
        for images, labels in DataLoader(data, batch_size=40, shuffle=True):
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step >= begin and step % 5 == 0:
                averaged.update_parameters(model)
                constant.step()
            if step >= args.steps:
                break
        print(f"step {step} loss {loss.item():.4f} averaged {int(averaged.n_averaged)}")
    update_bn(DataLoader(data, batch_size=100), averaged)
    averaged.eval()
    model.eval()
    with torch.no_grad():
        live = (model(x[1200:]).argmax(1) == y[1200:]).float().mean().item()
        mean = (averaged(x[1200:]).argmax(1) == y[1200:]).float().mean().item()
    print(f"RESULT live={live:.3f} averaged={mean:.3f}")


if __name__ == "__main__":
    main()
