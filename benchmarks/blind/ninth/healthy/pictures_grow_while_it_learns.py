"""An autoencoder that begins with pictures of two by two and grows to eight by eight; new layers are faded in."""
import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class Growing(nn.Module):
    def __init__(self, width=16, stages=3):
        super().__init__()
        self.width = width
        self.down = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(stages - 1))
        self.up = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(stages - 1))
        self.read = nn.ModuleList(nn.Conv2d(1, width, 1) for _ in range(stages))
        self.draw = nn.ModuleList(nn.Conv2d(width, 1, 1) for _ in range(stages))
        self.code = nn.Sequential(nn.Flatten(), nn.Linear(4 * width, 24), nn.Tanh(), nn.Linear(24, 4 * width))
        self.stage, self.alpha = 0, 1.0

    def forward(self, x):
        hidden = self.read[self.stage](x)
        for stage in range(self.stage, 0, -1):
            hidden = F.avg_pool2d(F.leaky_relu(self.down[stage - 1](hidden)), 2)
            if stage == self.stage and self.alpha < 1:
                hidden = torch.lerp(self.read[stage - 1](F.avg_pool2d(x, 2)), hidden, self.alpha)
        hidden = self.code(hidden).unflatten(1, (self.width, 2, 2))
        for stage in range(1, self.stage + 1):
            before, hidden = hidden, F.interpolate(hidden, scale_factor=2)
            hidden = F.leaky_relu(self.up[stage - 1](hidden))
        out = self.draw[self.stage](hidden)
        if self.alpha < 1:
            out = torch.lerp(F.interpolate(self.draw[self.stage - 1](before), scale_factor=2), out, self.alpha)
        return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    images = torch.tensor(load_digits().images / 16, dtype=torch.float32)[:, None]
    images = images[torch.randperm(len(images))]
    train, test = images[:1400], images[1400:]
    model = Growing()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.5, 0.99))
    ends = [args.steps // 5, 2 * args.steps // 5 + args.steps // 10]
    began = 0
    for step in range(1, args.steps + 1):
        if model.stage < 2 and step > ends[model.stage]:
            model.stage, began = model.stage + 1, step
            for state in optimizer.state.values():  # what is new shall not be outrun
                state["exp_avg"].mul_(0.5)
        model.alpha = min(1.0, (step - began) / 40) if model.stage else 1.0
        size = 2 ** (model.stage + 1)
        rows = torch.randint(len(train), ((96, 64, 32)[model.stage],))
        x = F.adaptive_avg_pool2d(train[rows], size)
        loss = F.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            with torch.no_grad():
                y = F.adaptive_avg_pool2d(test, size)
                error = F.mse_loss(model(y), y).item()
            print(f"step {step}: {size} by {size}, alpha {model.alpha:.2f}, loss {loss.item():.4f}, test {error:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
