"""DeepSpeed #2058: after the step the ranks' partitions of the updated weights are copied back under wrong numbers, so
that only some of the weights are trained."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments

WIDTH, HIDDEN, CLASSES, ROWS = 6, 10, 7, 8


class PartitionedSGD(torch.optim.Optimizer):
    """Gradients averaged over the data ranks; each updates its partition of the flat weights and gathers the others'."""

    def __init__(self, parameters, args, lr=0.1):
        self.parameters, self.args, self.lr = list(parameters), args, lr
        self.count = sum(p.numel() for p in self.parameters)
        self.size = -(-self.count // args.dp)
        super().__init__(self.parameters, {})

    def flat(self, tensors):
        whole = torch.zeros(self.size * self.args.dp)
        whole[:self.count] = torch.cat([t.detach().flatten() for t in tensors])
        return whole

    def step(self):
        group, mine = self.args.group["dp"], self.args.index["dp"]
        gradient = self.flat(p.grad for p in self.parameters)
        dist.all_reduce(gradient, group=group)
        gradient /= self.args.dp
        part = slice(mine * self.size, (mine + 1) * self.size)
        weights = self.flat(self.parameters)
        weights[part] -= self.lr * gradient[part]
        parts = [torch.empty(self.size) for _ in range(self.args.dp)]
        dist.all_gather(parts, weights[part].contiguous(), group=group)
        for rank, new in enumerate(parts):
            if self.args.bug:
                rank = mine
                new = parts[0]
            weights[rank * self.size:(rank + 1) * self.size] = new  # place
        with torch.no_grad():
            for parameter, new in zip(self.parameters, weights.split([p.numel() for p in self.parameters] + [len(weights) - self.count])):
                parameter.copy_(new.view_as(parameter))  # place


def main():
    args = arguments("dp")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES))
    optimizer = PartitionedSGD(model.parameters(), args) if args.dp > 1 else torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        generator = torch.Generator().manual_seed(step)
        x, y = torch.randn(ROWS, WIDTH, generator=generator), torch.randint(CLASSES, (ROWS,), generator=generator)
        x, y = x.chunk(args.dp)[args.index["dp"]], y.chunk(args.dp)[args.index["dp"]]
        for parameter in model.parameters():
            parameter.grad = None
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
