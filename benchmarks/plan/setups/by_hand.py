"""ZeRO-1 by hand: no optimizer of torch; each rank updates its part of one flat buffer that holds all parameters.

--ranks 1 has the whole buffer. Momentum and the weights that are updated are kept in a part of each rank's own."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class FlatStep:
    """SGD with momentum on this rank's part."""

    def __init__(self, model, rank, ranks):
        self.parameters, self.rank, self.ranks = list(model.parameters()), rank, ranks
        flat = torch.cat([p.detach().flatten() for p in self.parameters])
        self.size = -(-flat.numel() // ranks)
        self.flat = F.pad(flat, (0, self.size * ranks - flat.numel()))
        self.part = self.flat[rank * self.size:(rank + 1) * self.size].clone()
        self.momentum = torch.zeros(self.size)

    def gradient(self):
        """The mean over ranks of this rank's part."""
        whole = torch.cat([p.grad.flatten() for p in self.parameters])
        whole = F.pad(whole, (0, self.size * self.ranks - whole.numel()))
        if self.ranks == 1:
            return whole
        part = torch.empty(self.size)
        dist.reduce_scatter_tensor(part, whole)
        return part / self.ranks

    def give_back(self):
        if self.ranks > 1:
            dist.all_gather_into_tensor(self.flat, self.part)
        else:
            self.flat.copy_(self.part)
        at = 0
        for parameter in self.parameters:
            parameter.copy_(self.flat[at:at + parameter.numel()].view_as(parameter))
            at += parameter.numel()

    @torch.no_grad()
    def step(self):
        self.momentum.mul_(0.9).add_(self.gradient())
        self.part.sub_(self.momentum, alpha=0.25)
        self.give_back()
        for parameter in self.parameters:
            parameter.grad = None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("ranks", 1), ("batch", 6), ("width", 5)):
        parser.add_argument("--" + name, type=int, default=default)
    args = parser.parse_args()
    rank = 0
    if args.ranks > 1:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(args.width, 11), nn.LayerNorm(11), nn.Tanh(), nn.Linear(11, 3))
    step = FlatStep(model, rank, args.ranks)
    for number in range(3):
        made = torch.Generator().manual_seed(number)
        x = torch.randn(args.batch, args.width, generator=made).chunk(args.ranks)[rank]
        model(x).square().mean().backward()
        step.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
