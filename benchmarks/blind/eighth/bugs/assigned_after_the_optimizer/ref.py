"""A run is cut in the middle and goes on from its checkpoint in new objects."""

import argparse
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F


class SeriesNet(nn.Module):
    def __init__(self, channels=24):
        super().__init__()
        self.conv1 = nn.Conv1d(1, channels, 5, padding=2)
        self.conv2 = nn.Conv1d(channels, channels, 5, padding=2)
        self.head = nn.Linear(channels, 4)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.head(x.mean(-1))


def make_batch(generator, size=64):
    """Waves of four frequencies in noise."""
    label = torch.randint(4, (size,), generator=generator)
    phase = torch.rand(size, 1, generator=generator) * 6.28
    wave = torch.sin(torch.arange(48) * (0.25 + 0.12 * label[:, None]) + phase)
    return (wave + torch.randn(size, 48, generator=generator))[:, None], label


def build(lr):
    model = SeriesNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-3)
    return model, optimizer


def save(path, step, model, optimizer):
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)


def resume(path, model, optimizer):
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["step"]


def run(model, optimizer, generator, first, last, valid):
    for step in range(first + 1, last + 1):
        x, y = make_batch(generator)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 40 == 0:
            with torch.no_grad():
                right = (model(valid[0]).argmax(1) == valid[1]).float().mean().item()
            print(f"step {step}: loss {loss.item():.4f}, right {right:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=240)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed)
    valid = make_batch(generator, 500)
    cut = args.steps // 4
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        model, optimizer = build(args.lr)
        run(model, optimizer, generator, 0, cut, valid)
        save(path, cut, model, optimizer)
        del model, optimizer
        model, optimizer = build(args.lr)
        step = resume(path, model, optimizer)
    before = [p.detach().clone() for p in model.parameters()]
    print(f"resumed at step {step}")
    run(model, optimizer, generator, step, args.steps, valid)
    moved = sum((a - b).pow(2).sum() for a, b in zip(before, model.parameters())).sqrt().item()
    print(f"EVIDENCE since resuming the weights moved by {moved:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
