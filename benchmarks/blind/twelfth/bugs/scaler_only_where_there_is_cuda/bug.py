"""Small displacements of a field are learned in float16 with a scaled loss."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


def make_data(count, generator):
    x = torch.rand(count, 4, generator=generator) * 2 - 1
    phase = torch.linspace(0, 3, 64)
    y = 1e-3 * torch.sin(3 * x[:, :1] + phase) * x[:, 1:2] + 5e-4 * torch.cos(2 * x[:, 2:3] - phase)
    return x, y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    x, y = make_data(2000, generator)
    model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64))
    with torch.no_grad():
        model[4].weight.mul_(0.01)
        model[4].bias.zero_()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, eps=1e-12)
    half = True
    scaler = torch.amp.GradScaler("cpu", enabled=torch.cuda.is_available())
    lost = 0.0
    for step in range(args.steps):
        rows = torch.randint(0, 1800, (64,), generator=generator)
        with torch.autocast("cpu", dtype=torch.float16, enabled=half):
            answer = model(x[rows])
        loss = F.mse_loss(answer.float(), y[rows])
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        lost += (model[0].weight.grad == 0).float().mean().item() / args.steps
        scaler.step(optimizer)
        scaler.update()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item() * 1e6:.4f}e-6")
    with torch.no_grad():
        error = F.mse_loss(model(x[1800:]), y[1800:]).item()
    print(f"EVIDENCE {lost:.4f} of the first layer's gradients are nought, error {error * 1e6:.4f}e-6")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
