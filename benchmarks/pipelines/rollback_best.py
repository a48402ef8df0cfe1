"""When validation does not improve, go back to the best model and optimizer state and halve the learning rate."""

import copy

import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


def snapshot(model, optimizer):
    return copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})


def main():
    args = options(lr=0.03, width=48, steps=66)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    raw = load_diabetes()
    x = torch.tensor(raw.data * 20, dtype=torch.float32)
    y = torch.tensor((raw.target - raw.target.mean()) / raw.target.std(), dtype=torch.float32)
    train_loader = DataLoader(TensorDataset(x[:352], y[:352]), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(10, args.width), nn.ReLU(), nn.Linear(args.width, args.width), nn.ReLU(), nn.Linear(args.width, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.MSELoss()
    lr, best, kept = args.lr, float("inf"), snapshot(model, optimizer)
    for epoch in range(max(3, args.steps // len(train_loader))):
        model.train()
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(xb).squeeze(-1), yb)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = criterion(model(x[352:]).squeeze(-1), y[352:]).item()
        if val < best:
            best, kept, what = val, snapshot(model, optimizer), "kept"
        else:
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            lr /= 2
            for group in optimizer.param_groups:
                group["lr"] = lr
            what = f"back, lr {lr}"
        print(f"epoch {epoch}: val {val:.3f}, {what}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
