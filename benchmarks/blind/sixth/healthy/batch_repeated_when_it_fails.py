"""Reading fails by chance and is tried again; a step after which the loss is far worse is taken back."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()


class ReadError(RuntimeError):
    pass


class Source:
    """A remote store: one of five reads fails, and more often under a high number."""

    def __init__(self, x, y, generator):
        self.x, self.y, self.generator, self.reads = x, y, generator, 0

    def read(self, size):
        self.reads += 1
        if torch.rand((), generator=self.generator) < 0.2:
            raise ReadError("the store does not answer")
        index = torch.randint(len(self.x), (size,), generator=self.generator)
        return self.x[index], self.y[index]


def with_retries(source, size, tries=3):
    for attempt in range(tries):
        try:
            return source.read(size)
        except ReadError as error:
            if attempt == tries - 1:
                print(f"given up: {error}")
    return None


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x = torch.randn(500, 8)
    y = x[:, :1] - x[:, 1:2].abs() + 0.1 * torch.randn(500, 1)
    source = Source(x, y, torch.Generator().manual_seed(args.seed + 5))
    model = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    good, best, taken_back, left_out = None, float("inf"), 0, 0
    for step in range(args.steps):
        batch = with_retries(source, 32)
        if batch is None:
            left_out += 1
            continue
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            with torch.no_grad():
                error = nn.functional.mse_loss(model(x), y).item()
            if error > 1.05 * best and good is not None:
                model.load_state_dict(good[0])
                optimizer.load_state_dict(good[1])
                taken_back += 1
            else:
                good = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
                best = min(best, error)
    print(f"{source.reads} reads, {left_out} steps left out, {taken_back} taken back, error {best:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
