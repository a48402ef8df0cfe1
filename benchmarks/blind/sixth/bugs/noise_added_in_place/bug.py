"""A small table is learned with noise on its rows; the samples are kept in memory by the dataset."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()


class Table(Dataset):
    def __init__(self, samples, targets, noise=0.0):
        self.samples, self.targets, self.noise = samples, targets, noise

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        x, y = self.samples[index], self.targets[index]
        if self.noise:
            x += self.noise * torch.randn(x.shape)
        return x, y


class Regressor(nn.Module):
    def __init__(self, features, width=48):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(features, width), nn.Linear(width, width), nn.Linear(width, 1)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x).squeeze(1)


def make(count, truth):
    x = torch.randn(count, len(truth))
    return x, torch.tanh(x @ truth) + x[:, 0]


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        errors = [nn.functional.mse_loss(model(x), y).item() for x, y in loader]
    model.train()
    return sum(errors) / len(errors)


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    truth = 0.5 * torch.randn(10)
    train_set = Table(*make(128, truth), noise=0.2)
    train = DataLoader(train_set, batch_size=16, shuffle=True)
    valid = DataLoader(Table(*make(256, truth)), batch_size=64)
    model = Regressor(10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.5)
    for epoch in range(args.steps // len(train)):
        total = 0.0
        for x, y in train:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: loss {total / len(train):.4f}, validation {validate(model, valid):.4f}")
    print(f"EVIDENCE the samples have a deviation of {train_set.samples.std():.4f}, validation {validate(model, valid):.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
