"""A regression is interrupted and goes on from a checkpoint; the best weights are kept in a file of their own."""

import argparse
import tempfile
from pathlib import Path

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=120)
args = parser.parse_args()
EVERY = 10


def build():
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    return model, optimizer


def validate(model):
    model.eval()
    with torch.no_grad():
        error = nn.functional.mse_loss(model(valid_x), valid_y).item()
    model.train()
    return error


def run(folder, until):
    model, optimizer = build()
    step, best = 0, float("inf")
    last = folder / "last.pt"
    if last.exists():
        state = torch.load(last)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step, best = state["step"], state["best"]
    while step < until:
        index = torch.randint(len(train_x), (16,))
        loss = nn.functional.mse_loss(model(train_x[index]), train_y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % EVERY == 0:
            error = validate(model)
            errors.append(error)
            if error < best:
                best = error
                torch.save(model.state_dict(), folder / "best.pt")
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "best": best}
            torch.save(state, last)
            print(f"step {step}: validation {error:.4f}, best {best:.4f}")


torch.manual_seed(args.seed)
torch.set_num_threads(1)
truth, errors = torch.randn(12, 1), []
train_x, valid_x = torch.randn(40, 12), torch.randn(300, 12)
train_y, valid_y = (torch.sin(x @ truth) + 0.5 * torch.randn(len(x), 1) for x in (train_x, valid_x))
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    run(folder, args.steps // 2)
    run(folder, args.steps)
    model, _ = build()
    model.load_state_dict(torch.load(folder / "best.pt"))
print(f"EVIDENCE the kept weights have an error of {validate(model):.4f}, the least of all was {min(errors):.4f}")

# SPDX-License-Identifier: Apache-2.0
