# SPDX-License-Identifier: Apache-2.0
"""train.py, where a resumed run forgets how far its schedule was."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from recipe import make_optimizer


def sines(n):
    """n points of eight numbers, and the sum of their sines."""
    points = torch.randn(n, 8)
    return points, points.sin().sum(1, keepdim=True)


def train_epoch(model, loader, optimizer, schedule):
    model.train()
    for points, wanted in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(points), wanted)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    schedule.step()


@torch.no_grad()
def evaluate(model, points, wanted):
    model.eval()
    return F.mse_loss(model(points), wanted).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--save", help="write a checkpoint after the second epoch")
    parser.add_argument("--resume", help="go on from this checkpoint")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    loader = DataLoader(TensorDataset(*sines(600)), batch_size=60, shuffle=True)
    held_out = sines(50000)
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))
    optimizer = make_optimizer(model, lr=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    first = 0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["generator"])
        first = 2

    for epoch in range(first, args.epochs):
        train_epoch(model, loader, optimizer, schedule)
        print(f"epoch {epoch}: error {evaluate(model, *held_out):.3f}")
        if args.save and epoch == 1:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "schedule": schedule.state_dict(), "generator": torch.get_rng_state()}, args.save)


if __name__ == "__main__":
    main()
