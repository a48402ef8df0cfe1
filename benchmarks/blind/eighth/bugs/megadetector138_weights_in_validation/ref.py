"""Rare animals among many pictures of nothing: samples have weights."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Crops(Dataset):
    def __init__(self, count, classes=4):
        shares = torch.tensor([0.85, 0.07, 0.05, 0.03])
        self.labels = torch.multinomial(shares, count, replacement=True)
        self.features = 1.6 * nn.functional.one_hot(self.labels, 12).float() + torch.randn(count, 12)
        counts = torch.bincount(self.labels, minlength=classes).clamp(min=1)
        self.weights = (count / (classes * counts))[self.labels]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.features[i], self.labels[i], self.weights[i]


def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.004)
    parser.add_argument("--steps", type=int, default=350)
    return parser.parse_args()


def run_epoch(model, loader, criterion, optimizer=None, limit=None):
    """Trains if there is an optimizer, evaluates otherwise."""
    training = optimizer is not None
    model.train(training)
    total, seen, hits, of_class = 0.0, 0, torch.zeros(4), torch.zeros(4)
    with torch.set_grad_enabled(training):
        for number, (features, labels, weights) in enumerate(loader):
            if limit is not None and number >= limit:
                break
            outputs = model(features)
            loss = criterion(outputs, labels)
            if training:
                loss = (loss * weights).sum() / weights.sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            else:
                loss = loss.mean()
            total, seen = total + loss.item() * len(labels), seen + len(labels)
            right = (outputs.argmax(1) == labels).float()
            hits.index_add_(0, labels, right)
            of_class += torch.bincount(labels, minlength=4)
    return total / seen, hits / of_class.clamp(min=1)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train, valid = Crops(3000), Crops(2000)
    train_loader, valid_loader = DataLoader(train, 60, shuffle=True), DataLoader(valid, 200)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss(reduction="none")
    steps = 0
    while steps < args.steps:
        loss, _ = run_epoch(model, train_loader, criterion, optimizer, limit=args.steps - steps)
        steps += len(train_loader)
        valid_loss, recalls = run_epoch(model, valid_loader, criterion)
        print(f"step {min(steps, args.steps)}: train {loss:.4f}, valid {valid_loss:.4f}")
    print(f"EVIDENCE recall of the rare classes {recalls[1:].mean().item():.4f}, of nothing {recalls[0].item():.4f}; "
          f"validation loss {valid_loss:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
