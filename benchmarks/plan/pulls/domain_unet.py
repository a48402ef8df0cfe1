# SPDX-License-Identifier: Apache-2.0
"""A denoiser of images whose rows are divided over sp, unevenly, within data parallelism: convolutions take a row from
the neighbours, group norms use statistics of the whole image. All is wrapped in DistributedDataParallel over all ranks,
whose average is undone in the loss. Bugs:
variance_parts: variances of the parts are averaged, without the distance of their means.
    https://github.com/NVIDIA/physicsnemo/pull/1380
rows_uneven: means of the parts are averaged as if they had the same number of rows.
    https://github.com/NVIDIA/physicsnemo/pull/1421 and https://github.com/NVIDIA/physicsnemo/issues/1393
spatial_ranks: gradients are reduced over data parallelism only: each rank of sp goes on with those of its rows.
    https://github.com/ai2cm/ace/pull/995"""
import argparse

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_functional
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

IMAGE, CHANNELS, INNER, GROUPS, ROWS, COLUMNS, TIME, BATCH, LAYERS, EPS = 4, 12, 15, 3, 11, 7, 10, 16, 2, 1e-5


def swap(up, down, group):
    """Sends up to the rank before and down to the one after; what comes from them, or zeros at the edge."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    above, below, ops = torch.zeros_like(up), torch.zeros_like(down), []
    if rank > 0:
        other = dist.get_global_rank(group, rank - 1)
        ops += [dist.P2POp(dist.isend, up.contiguous(), other, group), dist.P2POp(dist.irecv, above, other, group)]
    if rank < size - 1:
        other = dist.get_global_rank(group, rank + 1)
        ops += [dist.P2POp(dist.isend, down.contiguous(), other, group), dist.P2POp(dist.irecv, below, other, group)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return above, below


class Halo(torch.autograd.Function):
    """Images with a row more on either side."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        x = x.contiguous()
        above, below = swap(x[:, :, :1].contiguous(), x[:, :, -1:].contiguous(), group)
        return torch.cat((above, x, below), 2)

    @staticmethod
    def backward(ctx, grad):
        above, below = swap(grad[:, :, :1].contiguous(), grad[:, :, -1:].contiguous(), ctx.group)
        grad = grad[:, :, 1:-1].clone()
        grad[:, :, :1] += above
        grad[:, :, -1:] += below
        return grad, None


class Conv(nn.Conv2d):
    def __init__(self, channels, filters, group):
        super().__init__(channels, filters, 3, padding=1)
        self.group = group

    def forward(self, x):
        if not self.group:
            return super().forward(x)
        return F.conv2d(Halo.apply(x, self.group), self.weight, self.bias, padding=(0, 1))


class Norm(nn.GroupNorm):
    def __init__(self, channels, group, bug):
        super().__init__(GROUPS, channels, eps=EPS)
        self.group, self.bug = group, bug

    def average(self, x):
        return dist_functional.all_reduce(x.contiguous(), group=self.group) / dist.get_world_size(self.group)

    def forward(self, x):
        if not self.group:
            return super().forward(x)
        parts = x.unflatten(1, (GROUPS, -1)).flatten(2)
        if self.bug == "variance_parts":
            share = parts.size(-1) / (x.size(1) // GROUPS * ROWS * COLUMNS) * dist.get_world_size(self.group)
            mean = self.average(parts.mean(-1) * share)
            variance = self.average(parts.var(-1, unbiased=False) * share)  # place variance_parts
        elif self.bug == "rows_uneven":
            mean, square = self.average(parts.mean(-1)), self.average(parts.square().mean(-1))  # place rows_uneven
            variance = square - mean.square()
        else:
            count = x.size(1) // GROUPS * ROWS * COLUMNS / dist.get_world_size(self.group)
            mean = self.average(parts.sum(-1)) / count  # place rows_uneven
            variance = self.average((parts - mean.unsqueeze(-1)).square().sum(-1)) / count  # place variance_parts
        y = (parts - mean.unsqueeze(-1)) * (variance + self.eps).rsqrt().unsqueeze(-1)
        return y.view_as(x) * self.weight[:, None, None] + self.bias[:, None, None]


class Block(nn.Module):
    def __init__(self, group, bug):
        super().__init__()
        self.norm, self.norm2 = Norm(CHANNELS, group, bug), Norm(INNER, group, bug)
        self.conv, self.conv2 = Conv(CHANNELS, INNER, group), Conv(INNER, CHANNELS, group)
        self.time = nn.Linear(TIME, INNER)

    def forward(self, x, time):
        h = self.conv(F.silu(self.norm(x))) + self.time(time)[:, :, None, None]
        return x + self.conv2(F.silu(self.norm2(h)))


class Denoiser(nn.Module):
    def __init__(self, group, bug):
        super().__init__()
        self.first, self.last = Conv(IMAGE, CHANNELS, group), Conv(CHANNELS, IMAGE, group)
        self.blocks = nn.ModuleList(Block(group, bug) for _ in range(LAYERS))
        self.norm = Norm(CHANNELS, group, bug)

    def forward(self, x, time):
        x = self.first(x)
        for block in self.blocks:
            x = block(x, time)
        return self.last(F.silu(self.norm(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--sp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    group, mesh, own_dp, own_sp, ranks = None, None, 0, 0, 1
    if args.dp * args.sp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.sp), mesh_dim_names=("dp", "sp"))
        group, (own_dp, own_sp) = mesh.get_group("sp"), mesh.get_coordinate()
    torch.manual_seed(13)
    model = wrapped = Denoiser(group, args.bug)
    if mesh:
        over = mesh.get_group("dp") if args.bug == "spatial_ranks" else dist.group.WORLD  # place spatial_ranks
        wrapped = DistributedDataParallel(model, process_group=over)  # place spatial_ranks
        ranks = dist.get_world_size(over)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(31)
    for _ in range(args.steps):
        clean = torch.randint(-8, 9, (BATCH, IMAGE, ROWS, COLUMNS), generator=data) / 8
        noise = torch.randint(-16, 17, clean.shape, generator=data) / 8
        level = torch.randint(1, 8, (BATCH, 1, 1, 1), generator=data) / 8
        time = torch.cat([(level.flatten(1) * n).cos() for n in range(1, TIME + 1)], 1)
        mixed = clean * (1 - level) + noise * level
        mixed, noise = (t.chunk(args.dp)[own_dp].chunk(args.sp, 2)[own_sp] for t in (mixed, noise))
        optimizer.zero_grad()
        loss = F.mse_loss(wrapped(mixed, time.chunk(args.dp)[own_dp]), noise, reduction="sum")
        (loss * ranks / clean.numel()).backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
