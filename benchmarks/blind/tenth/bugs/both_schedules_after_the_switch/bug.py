"""Stochastic weight averaging: a cosine at first, then a constant rate while weights are averaged."""

import argparse

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()


def make_data(count):
    centres = torch.randn(6, 10, generator=torch.Generator().manual_seed(args.seed + 1))
    labels = torch.randint(6, (count,))
    return TensorDataset(centres[labels] + 0.9 * torch.randn(count, 10), labels)


def evaluate(model, loader):
    model.eval()
    losses = []
    with torch.no_grad():
        for x, y in loader:
            losses.append(nn.functional.cross_entropy(model(x), y, reduction="none"))
    model.train()
    return torch.cat(losses).mean().item()


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train_loader = DataLoader(make_data(960), batch_size=32, shuffle=True)
    valid_loader = DataLoader(make_data(400), batch_size=100)
    model = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    epochs = max(2, args.steps // len(train_loader))
    swa_start = epochs // 2
    scheduler = CosineAnnealingLR(optimizer, T_max=swa_start)
    swa_scheduler = SWALR(optimizer, swa_lr=args.lr / 4, anneal_epochs=2)
    swa_model = AveragedModel(model)
    rates = []
    for epoch in range(epochs):
        rates.append(optimizer.param_groups[0]["lr"])
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch >= swa_start:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        scheduler.step()
        print(f"epoch {epoch}: lr {rates[-1]:.4f}, loss {evaluate(model, valid_loader):.4f}")
    update_bn(train_loader, swa_model)
    late = sum(rates[swa_start:]) / len(rates[swa_start:])
    print(f"EVIDENCE rate at the end {rates[-1]:.5f}, mean while averaging {late:.5f}, loss {evaluate(swa_model, valid_loader):.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
