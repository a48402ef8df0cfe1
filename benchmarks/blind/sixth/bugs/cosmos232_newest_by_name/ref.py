"""Checkpoints are written every twenty steps; after an interruption the newest is looked for and loaded."""

import argparse
import pathlib
import tempfile

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()
EVERY = 20


def number(path):
    return int(path.stem.split("-")[1])


def newest(folder):
    files = sorted(folder.glob("step-*.pt"), key=number)
    return files[-1] if files else None


def save(folder, step, model, optimizer):
    state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}
    torch.save(state, folder / f"step-{step}.pt")


def run(folder, until, losses):
    """Trains to a step; a checkpoint in the folder is gone on from."""
    model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    step, file = 0, newest(folder)
    if file is not None:
        state = torch.load(file)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        step = state["step"]
        print(f"goes on from step {step}")
    while step < until:
        index = torch.randint(len(x), (32,))
        loss = nn.functional.cross_entropy(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        losses.append(loss.item())
        if step % EVERY == 0:
            save(folder, step, model, optimizer)
    print(f"step {step}: loss {losses[-1]:.4f}")


if __name__ == "__main__":
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.randn(800, 16)
    y = (x @ torch.randn(16, 4) + torch.randn(800, 4)).argmax(1)
    losses = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(folder, args.steps * 3 // 4, losses)
        run(folder, args.steps, losses)
    print(f"EVIDENCE {len(losses)} steps were made for a run of {args.steps}")

# SPDX-License-Identifier: Apache-2.0
