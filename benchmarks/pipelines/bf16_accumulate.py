"""bfloat16 autocast with gradient accumulation, and an activation of our own as an autograd Function."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer
from torch import nn

from options import options

ACCUMULATE, MICRO = 4, 16


class Swish(torch.autograd.Function):
    """x * sigmoid(x), recomputing the sigmoid in the backward pass."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s + x * s * (1 - s))


class Tabular(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(30, width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        h = Swish.apply(self.fc1(x))
        h = h + self.drop(Swish.apply(self.fc2(h)))
        return self.out(self.norm(h))


def batches(x, y, seed):
    generator = torch.Generator().manual_seed(seed)
    while True:
        for idx in torch.randperm(len(x), generator=generator).split(MICRO):
            if len(idx) == MICRO:
                yield x[idx], y[idx]


def main():
    args = options(lr=2e-3, width=48, steps=30)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    raw = load_breast_cancer()
    x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
    y = torch.tensor(raw.target)
    stream = batches(x[:450], y[:450], args.seed)
    model = Tabular(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model.train()
    for step in range(1, args.steps + 1):
        running = 0.0
        for _ in range(ACCUMULATE):
            xb, yb = next(stream)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(xb), yb) / ACCUMULATE
            loss.backward()
            running += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 10 == 0:
            model.eval()
            with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
                accuracy = (model(x[450:]).argmax(-1) == y[450:]).float().mean().item()
            model.train()
            print(f"step {step}: loss {running:.3f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
