"""Mixed precision with a scaler: the slope of the answer in its inputs is punished, as in the notes on gradient penalties."""
import argparse

import torch
from sklearn.datasets import make_moons
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=160)
parser.add_argument("--penalty", type=float, default=0.05)


def build():
    return nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


def training_loss(model, scaler, x, y, weight):
    x = x.requires_grad_(True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(x).squeeze(1)
    loss = nn.functional.binary_cross_entropy_with_logits(logits.float(), y)
    scaled, = torch.autograd.grad(scaler.scale(loss), x, create_graph=True)
    slopes = scaled * len(x)
    penalty = slopes.pow(2).sum(1).mean()
    return loss + weight * penalty, loss.detach(), penalty.detach()


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x).squeeze(1)
    model.train()
    loss = nn.functional.binary_cross_entropy_with_logits(logits, y).item()
    return loss, ((logits > 0) == (y > 0.5)).float().mean().item()


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = make_moons(1200, noise=0.2, random_state=args.seed)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    loader = DataLoader(TensorDataset(x[:900], y[:900]), batch_size=60, shuffle=True)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    step = 0
    while step < args.steps:
        for inputs, targets in loader:
            loss, plain, penalty = training_loss(model, scaler, inputs, targets, args.penalty)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            scaler.step(optimizer)
            scaler.update()
            step += 1
            if step % 40 == 0:
                print(f"step {step}: loss {plain.item():.4f}, penalty {penalty.item():.4f}, scale {scaler.get_scale():.0f}")
            if step == args.steps:
                break
    loss, right = evaluate(model, x[900:], y[900:])
    print(f"EVIDENCE validation loss {loss:.4f}, right {right:.4f}, last penalty {penalty.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
