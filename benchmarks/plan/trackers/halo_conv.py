# SPDX-License-Identifier: Apache-2.0
"""Images that are split by rows over the ranks: before each convolution the border rows are exchanged with both
neighbours, group norms take their statistics over all rows, the loss is the mean over all pixels. Bugs: halo_kept
(physicsnemo #1914, the correction that sends halos' contributions back to their owners: left out of the backward),
wrapped (TensorRT-LLM #17001, halo exchange with the wrong peer: the border ranks exchange with each other), unreduced
(ai2cm/ace #995: spatial ranks do not add their gradients of the parameters), local_stats (miles-credit #320, layers for
domain parallelism: one kept as it was; the norm takes the statistics of its own rows)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

CHANNELS, GROUPS, HEIGHT, SIDE, BATCH = (3, 10, 11), 2, 12, 7, 9


def exchange(up, down, bug):
    """Sends up to the rank above and down to the one below; what comes from them, or zeros at the border."""
    rank, size = dist.get_rank(), dist.get_world_size()
    above, below = rank - 1, rank + 1
    if bug == "wrapped":
        above, below = above % size, below % size  # place wrapped
    up, down = up.contiguous(), down.contiguous()
    from_above, from_below = torch.zeros_like(down), torch.zeros_like(up)
    ops = []
    if 0 <= above:  # place wrapped
        ops += [dist.P2POp(dist.isend, up, above, tag=1), dist.P2POp(dist.irecv, from_above, above, tag=2)]
    if below < size:  # place wrapped
        ops += [dist.P2POp(dist.isend, down, below, tag=2), dist.P2POp(dist.irecv, from_below, below, tag=1)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return from_above, from_below


class Halo(torch.autograd.Function):
    """Rows of the neighbours above and below."""
    @staticmethod
    def forward(ctx, x, bug):
        ctx.bug = bug
        above, below = exchange(x[:, :, :1], x[:, :, -1:], bug)
        return torch.cat([above, x, below], 2)

    @staticmethod
    def backward(ctx, grad):
        inner = grad[:, :, 1:-1].clone()
        if ctx.bug != "halo_kept":  # place halo_kept
            first, last = exchange(grad[:, :, :1], grad[:, :, -1:], ctx.bug)  # place halo_kept
            inner[:, :, :1] += first
            inner[:, :, -1:] += last
        return inner, None  # place halo_kept


class Sum(torch.autograd.Function):
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


class Conv(nn.Conv2d):
    """3 x 3; columns are padded here, rows by the neighbours."""
    parallel, bug = False, ""

    def forward(self, x):
        if not self.parallel:
            return F.conv2d(x, self.weight, self.bias, padding=1)
        return F.conv2d(Halo.apply(x, self.bug), self.weight, self.bias, padding=(0, 1))


class Norm(nn.GroupNorm):
    parallel, bug = False, ""

    def forward(self, x):
        if not self.parallel or self.bug == "local_stats":  # place local_stats
            return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)  # place local_stats
        groups = x.unflatten(1, (self.num_groups, -1)).flatten(2)
        count = groups.size(2) * dist.get_world_size()
        mean = Sum.apply(groups.sum(2, keepdim=True)) / count
        var = Sum.apply((groups - mean).square().sum(2, keepdim=True)) / count
        y = ((groups - mean) * torch.rsqrt(var + self.eps)).view_as(x)
        return y * self.weight[:, None, None] + self.bias[:, None, None]


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        a, b, c = CHANNELS
        self.conv1, self.norm1 = Conv(a, b, 3), Norm(GROUPS, b)
        self.conv2, self.norm2 = Conv(b, b, 3), Norm(GROUPS, b)
        self.conv3 = Conv(b, c, 3)

    def forward(self, x):
        x = F.silu(self.norm1(self.conv1(x)))
        x = x + F.silu(self.norm2(self.conv2(x)))
        return self.conv3(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    rank, parallel = 0, args.sp > 1
    if parallel:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    Conv.parallel = Norm.parallel = parallel
    Conv.bug = Norm.bug = args.bug
    torch.manual_seed(101)
    model = Network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(43)
    for _ in range(args.steps):
        x = torch.randn(BATCH, CHANNELS[0], HEIGHT, SIDE, generator=data)
        y = torch.randn(BATCH, CHANNELS[-1], HEIGHT, SIDE, generator=data)
        pixels = y.numel()
        x, y = (t.chunk(args.sp, 2)[rank] for t in (x, y))
        optimizer.zero_grad()
        loss = (model(x) - y).square().sum() / pixels
        loss.backward()
        if parallel and args.bug != "unreduced":  # place unreduced
            for p in model.parameters():
                dist.all_reduce(p.grad)  # place unreduced
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
