"""A graph network for the roots of small trees: messages are joined by their mean and by their maximum."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()


def aggregate(messages, target, count):
    """Mean and maximum of the messages that arrive at each node."""
    index = target[:, None].expand_as(messages)
    empty = messages.new_zeros(count, messages.shape[1])
    mean = empty.scatter_reduce(0, index, messages, reduce="mean", include_self=False)
    greatest = empty.scatter_reduce(0, index, messages, reduce="amax", include_self=False)
    return torch.cat([mean, greatest], dim=1)


class Layer(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.message, self.update = nn.Linear(inputs, width), nn.Linear(inputs + 2 * width, width)

    def forward(self, x, source, target):
        arrived = aggregate(self.message(x)[source], target, len(x))
        return torch.relu(self.update(torch.cat([x, arrived], dim=1)))


class GraphNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.first, self.head = Layer(3, width), nn.Linear(width, 2)

    def forward(self, x, source, target, roots):
        return self.head(self.first(x, source, target))[roots]


def make_batch(count=32):
    """The answer is the mean and the greatest of the children's first values, most of which are below nought."""
    features, sources, targets, roots, answers = [], [], [], [], []
    offset = 0
    for _ in range(count):
        children = int(torch.randint(1, 5, ()))
        values = torch.randn(children + 1, 3)
        values[:, 0] -= 1.5
        features.append(values)
        sources.append(torch.arange(1, children + 1) + offset)
        targets.append(torch.full((children,), offset))
        roots.append(offset)
        answers.append(torch.stack([values[1:, 0].mean(), values[1:, 0].max()]))
        offset += children + 1
    return torch.cat(features), torch.cat(sources), torch.cat(targets), torch.tensor(roots), torch.stack(answers)


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = GraphNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        *graph, answers = make_batch()
        loss = nn.functional.mse_loss(model(*graph), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        *graph, answers = make_batch(400)
        error = nn.functional.l1_loss(model(*graph), answers).item()
        below = aggregate(-torch.ones(4, 1), torch.tensor([0, 0, 0, 1]), 2).mean().item()
    print(f"EVIDENCE error {error:.4f}, four messages of minus one become {below:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
