# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network under DDP with batch norms that take their statistics over all ranks, written by hand;
the ranks' batches have unequal sizes, the loss is the mean over all samples. Bugs: mean_of_means (fvcore #152 and
PaddlePaddle #32464: means and variances of the ranks are averaged, whatever their batch sizes), dead_stats (vacancy's
and other synchronised norms: sums are reduced without autograd, so what other ranks' samples do to them is lost),
ddp_mean (torchtune #2172: DDP's mean over the ranks is not undone for a loss that is divided by all samples)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

CHANNELS, CLASSES, SIDE, SIZES = (3, 6, 8), 10, 9, (7, 4)


class Sum(torch.autograd.Function):
    """Sum over the ranks, in both directions."""
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class SyncedNorm(nn.BatchNorm2d):
    bug = ""

    def forward(self, x):
        axes = (0, 2, 3)
        if self.bug == "mean_of_means":
            ranks = dist.get_world_size()
            mean = Sum.apply(x.mean(axes)) / ranks  # place mean_of_means
            var = Sum.apply((x - mean[:, None, None]).square().mean(axes)) / ranks  # place mean_of_means
            count = x.numel() // x.size(1) * ranks
        else:
            sums = torch.cat([x.sum(axes), x.square().sum(axes)])
            count = torch.tensor(x.numel() // x.size(1))
            dist.all_reduce(count)
            if self.bug == "dead_stats":  # place dead_stats
                dist.all_reduce(sums)  # place dead_stats
            else:
                sums = Sum.apply(sums)
            mean, square = (sums / count).chunk(2)
            var = square - mean.square()
        with torch.no_grad():
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(var * count / (count - 1), self.momentum)
        scale = self.weight * torch.rsqrt(var + self.eps)
        return (x - mean[:, None, None]) * scale[:, None, None] + self.bias[:, None, None]


class Network(nn.Module):
    def __init__(self, norm):
        super().__init__()
        a, b, c = CHANNELS
        self.conv1, self.norm1 = nn.Conv2d(a, b, 3, padding=1, bias=False), norm(b)
        self.conv2, self.norm2 = nn.Conv2d(b, c, 3, stride=2, padding=1, bias=False), norm(c)
        self.head = nn.Linear(c, CLASSES)

    def forward(self, x):
        x = F.gelu(self.norm1(self.conv1(x)))
        x = F.gelu(self.norm2(self.conv2(x)))
        return self.head(x.mean((2, 3)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    torch.manual_seed(71)
    rank, samples = None, sum(SIZES)
    if args.dp > 1:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
        SyncedNorm.bug = args.bug
        model = DistributedDataParallel(Network(SyncedNorm))
    else:
        model = Network(nn.BatchNorm2d)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = torch.Generator().manual_seed(23)
    for _ in range(args.steps):
        x = torch.randn(samples, CHANNELS[0], SIDE, SIDE, generator=data)
        y = torch.randint(CLASSES, (samples,), generator=data)
        if rank is not None:
            x, y = x.split(SIZES)[rank], y.split(SIZES)[rank]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, reduction="sum") / samples  # place ddp_mean
        if rank is not None and args.bug != "ddp_mean":  # place ddp_mean
            loss = loss * args.dp
        loss.backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
