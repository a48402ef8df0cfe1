# SPDX-License-Identifier: Apache-2.0
"""A recommender: two tables split by rows over all ranks, everything else copied, rows of the batch divided. Each rank
puts the ids of its bags into buckets by owner and sends them there; owners pool what they have, and a reduce-scatter
adds the parts up for the rank of the row. Users are pooled by mean, items by sum; bags may be empty. Two tasks. Bugs:
mean_local: owners divide their part by the ids of the bag that they hold, before the parts are added.
    https://github.com/meta-pytorch/torchrec/issues/2362
lengths_shared: the divisors of mean pooling are made in the lengths of the bags, which item pooling still reads.
    https://github.com/meta-pytorch/torchrec/issues/2808
grad_divided: gradients of pooled embeddings are divided by the ranks on the way to the owners, and never averaged.
    https://github.com/meta-pytorch/torchrec/issues/2251"""
import argparse

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_functional
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

USERS, ITEMS, LONGEST, WIDTH, COUNTERS, HIDDEN, TASKS, BATCH = 33, 24, 6, 7, 4, 9, 2, 15


class DividedGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad / ctx.factor, None


def bag_divisors(lengths, pooling, bug):
    """What each bag is divided by: its length where the feature is pooled by mean, one elsewhere."""
    counts = lengths if bug == "lengths_shared" else lengths.clone()  # place lengths_shared
    for feature, kind in enumerate(pooling):
        if kind == "sum":
            counts[feature] = 1  # place lengths_shared
    return counts.clamp_(min=1)


class RowWiseBag(nn.Module):
    def __init__(self, rows, group, bug):
        super().__init__()
        self.group, self.bug, self.rows = group, bug, rows
        rank, size = (dist.get_rank(group), dist.get_world_size(group)) if group else (0, 1)
        self.size, self.first = size, rank * (rows // size)
        self.weight = nn.Parameter((torch.randn(rows, WIDTH) / 2).chunk(size)[rank].clone())

    def pool(self, ids):
        """The sum of what this rank has of each bag; -1 stands where there is no id."""
        here = ids >= 0
        return (F.embedding(ids.clamp(min=0), self.weight) * here.unsqueeze(-1)).sum(-2)

    def forward(self, ids, lengths, divisors, kind):
        ids = ids.masked_fill(torch.arange(LONGEST) >= lengths.unsqueeze(-1), -1)
        if not self.group:
            return self.pool(ids) / divisors.unsqueeze(-1)
        block = self.rows // self.size
        owner = torch.where(ids < 0, -1, ids // block)
        buckets = torch.stack([torch.where(owner == r, ids - r * block, -1) for r in range(self.size)])
        got = torch.empty_like(buckets)
        dist.all_to_all_single(got, buckets.contiguous(), group=self.group)
        parts = self.pool(got)
        if self.bug == "mean_local" and kind == "mean":
            parts = parts / (got >= 0).sum(-1).clamp(min=1).unsqueeze(-1)  # place mean_local
        if self.bug == "grad_divided":
            parts = DividedGradient.apply(parts, self.size)  # place grad_divided
        pooled = torch.empty_like(parts[0])
        pooled = dist_functional.reduce_scatter(pooled, list(parts.unbind()), group=self.group)
        if self.bug == "mean_local" and kind == "mean":
            return pooled
        return pooled / divisors.unsqueeze(-1)  # place mean_local


class Model(nn.Module):
    def __init__(self, group, bug):
        super().__init__()
        self.bug, self.sharded = bug, bool(group)
        self.users, self.items = RowWiseBag(USERS, group, bug), RowWiseBag(ITEMS, group, bug)
        self.bottom = nn.Linear(COUNTERS, WIDTH)
        self.top = nn.Sequential(nn.Linear(WIDTH + 3, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, TASKS))

    def forward(self, counters, ids, lengths):
        divisors = bag_divisors(lengths, ("mean", "sum"), self.bug if self.sharded else "")
        x = torch.tanh(self.bottom(counters))
        u = self.users(ids[0], lengths[0], divisors[0], "mean")
        i = self.items(ids[1], lengths[1], divisors[1], "sum")
        pairs = torch.stack(((x * u).sum(-1), (x * i).sum(-1), (u * i).sum(-1)), -1)
        return self.top(torch.cat((x, pairs), -1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    group, rank = None, 0
    if args.mp > 1:
        dist.init_process_group("gloo")
        group = init_device_mesh("cpu", (args.mp,), mesh_dim_names=("mp",)).get_group()
        rank = dist.get_rank(group)
    torch.manual_seed(62)
    model = Model(group, args.bug)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05, eps=1e-3)
    data = torch.Generator().manual_seed(28)
    for _ in range(args.steps):
        counters = torch.randint(-8, 9, (BATCH, COUNTERS), generator=data) / 8
        lengths = torch.randint(LONGEST + 1, (2, BATCH), generator=data)
        ids = torch.stack([torch.randint(n, (BATCH, LONGEST), generator=data) for n in (USERS, ITEMS)])
        labels = torch.randint(2, (BATCH, TASKS), generator=data).to(torch.get_default_dtype())
        seen = torch.rand(BATCH, TASKS, generator=data) < 0.8
        total = seen.sum()
        rows = torch.arange(BATCH).chunk(args.mp)[rank]
        optimizer.zero_grad()
        logits = model(counters[rows].to(labels), ids[:, rows], lengths[:, rows].contiguous())
        losses = F.binary_cross_entropy_with_logits(logits, labels[rows], reduction="none")
        ((losses * seen[rows]).sum() / total).backward()
        if group:
            for name, p in model.named_parameters():
                if not name.startswith(("users", "items")):
                    dist.all_reduce(p.grad, group=group)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
