"""GradScaler with accumulation; its state, the optimizer's and the scheduler's go through a checkpoint."""

import io

import torch
from sklearn.datasets import load_wine
from torch import nn

from options import options

ACCUMULATE = 2


def build(args):
    model = nn.Sequential(
        nn.Linear(13, args.width), nn.LayerNorm(args.width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(args.width, 3)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.2, total_iters=10)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=15)
    return model, optimizer, scheduler, scaler


def train(parts, x, y, steps):
    model, optimizer, scheduler, scaler = parts
    criterion = nn.CrossEntropyLoss()
    model.train()
    optimizer.zero_grad()
    for i in range(steps * ACCUMULATE):
        idx = torch.randint(len(x), (24,))
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            loss = criterion(model(x[idx]), y[idx])
        scaler.scale(loss / ACCUMULATE).backward()
        if (i + 1) % ACCUMULATE == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scheduler.step()
    return loss.item()


def main():
    args = options(lr=5e-3, width=32, steps=40)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    raw = load_wine()
    x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
    y = torch.tensor(raw.target)
    parts = build(args)
    first = train(parts, x, y, args.steps // 2)
    names = ("model", "optimizer", "scheduler", "scaler")
    file = io.BytesIO()
    torch.save({n: p.state_dict() for n, p in zip(names, parts)}, file)

    file.seek(0)
    state = torch.load(file)
    parts = build(args)
    for name, part in zip(names, parts):
        part.load_state_dict(state[name])
    second = train(parts, x, y, args.steps - args.steps // 2)
    model = parts[0].eval()
    with torch.no_grad():
        accuracy = (model(x).argmax(1) == y).float().mean().item()
    print(f"loss {first:.3f} -> {second:.3f}, accuracy {accuracy:.3f}, scale {parts[3].get_scale()}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
