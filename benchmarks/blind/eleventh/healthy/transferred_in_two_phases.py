"""A network learns the digits 0-5, then 6-9 with few examples: first the new head alone, then all with a smaller rate below."""
import argparse
import os
import tempfile

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.fc = nn.Linear(128, classes)

    def forward(self, x):
        return self.fc(self.backbone(x))


def loop(model, loader, optimizer, steps, frozen=False, scheduler=None):
    step = 0
    while step < steps:
        model.train()
        if frozen:
            model.backbone.eval()
        for x, y in loader:
            if torch.rand(1) < 0.5:
                x = x.roll(int(torch.randint(-1, 2, (1,))), 3)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
            step += 1
            if step == steps:
                break
    return loss.item()


@torch.no_grad()
def right(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=360)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(x))
    x, y = torch.tensor(x, dtype=torch.float32)[order].view(-1, 1, 8, 8) / 16, torch.tensor(y)[order]
    old_x, old_y, new_x, new_y = x[y < 6], y[y < 6], x[y >= 6], y[y >= 6] - 6
    third = args.steps // 3
    source = Net(6)
    loss = loop(source, DataLoader(TensorDataset(old_x[:800], old_y[:800]), 40, shuffle=True), torch.optim.Adam(source.parameters(), args.lr), third)
    print(f"source: loss {loss:.4f}, right {right(source, old_x[800:], old_y[800:]):.4f}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "source.pt")
        torch.save(source.state_dict(), path)
        state = torch.load(path, weights_only=True)
    model = Net(4)
    report = model.load_state_dict({k: v for k, v in state.items() if not k.startswith("fc.")}, strict=False)
    print(f"not loaded: {report.missing_keys}")
    few = DataLoader(TensorDataset(new_x[:80], new_y[:80]), 16, shuffle=True)
    model.backbone.requires_grad_(False)
    loss = loop(model, few, torch.optim.Adam(model.fc.parameters(), args.lr), third, frozen=True)
    print(f"head: loss {loss:.4f}, right {right(model, new_x[80:], new_y[80:]):.4f}")
    model.backbone.requires_grad_(True)
    optimizer = torch.optim.AdamW([{"params": model.backbone.parameters(), "lr": args.lr / 10}, {"params": model.fc.parameters(), "lr": args.lr / 3}])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, third)
    loss = loop(model, few, optimizer, third, scheduler=scheduler)
    print(f"all: loss {loss:.4f}, right {right(model, new_x[80:], new_y[80:]):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
