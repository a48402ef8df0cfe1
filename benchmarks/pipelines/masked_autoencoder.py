"""An autoencoder that fills in masked pixels, measured with averaged weights that a context manager puts in and takes out."""

import contextlib

import torch
from sklearn.datasets import load_digits
from torch import nn

from options import options


@contextlib.contextmanager
def weights_of(model, average):
    kept = [p.detach().clone() for p in model.parameters()]
    for p, mean in zip(model.parameters(), average):
        p.data.copy_(mean)
    try:
        yield model
    finally:
        for p, old in zip(model.parameters(), kept):
            p.data.copy_(old)


def reconstruct(model, pixels, generator):
    mask = (torch.rand(pixels.shape, generator=generator) < 0.5).float()
    filled = model(torch.cat([pixels * mask, mask], dim=1))
    return (((filled - pixels) * (1 - mask)) ** 2).sum() / (1 - mask).sum()


def main():
    args = options(lr=2e-3, width=96, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed)
    pixels = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    train, test = pixels[:1500], pixels[1500:]
    model = nn.Sequential(
        nn.Linear(128, args.width), nn.SiLU(), nn.LayerNorm(args.width),
        nn.Linear(args.width, args.width), nn.SiLU(), nn.Linear(args.width, 64), nn.Sigmoid(),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    average = [p.detach().clone() for p in model.parameters()]
    for step in range(args.steps):
        rows = torch.randint(len(train), (64,), generator=generator)
        loss = reconstruct(model, train[rows], generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(average, list(model.parameters()), 0.1)
        if (step + 1) % 10 == 0:
            with weights_of(model, average), torch.no_grad():
                error = reconstruct(model, test, torch.Generator().manual_seed(1))
            print(f"step {step + 1}: loss {loss.item():.4f}, error of the average {error.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
