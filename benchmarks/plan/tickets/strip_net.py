# SPDX-License-Identifier: Apache-2.0
"""A small residual network on images whose rows are divided over sp and whose batch is divided over dp. Convolutions
take the rows that they lack from the strips beside theirs; batch norms take their moments over all ranks; the mean over
the image is summed over sp, and what follows is computed on each rank of sp alike. Convolutions that need no neighbour
take a faster path, which is set where the model is made. Bugs:
halo_peer: the neighbour is looked up by its place in the group of strips where the ranks of the world are meant.
    https://github.com/NVIDIA/TensorRT-LLM/pull/17001
fast_conv: the faster path is given to all convolutions, those that exchange rows included; it pads with zeros.
    https://github.com/sgl-project/sglang/pull/34424
own_variance: the variances of the ranks are averaged, each about its own mean.
    https://github.com/leggedrobotics/rsl_rl/pull/226"""
import argparse
import types

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_functional
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

COLOURS, CHANNELS, CLASSES, ROWS, COLUMNS, BATCH = 3, (5, 8), 11, 16, 9, 14


class SumBothWays(torch.autograd.Function):
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


class SumForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class StripConv(nn.Conv2d):
    """A convolution of 3 x 3 on a strip of the image."""
    def __init__(self, inputs, outputs, stride, mesh, bug):
        super().__init__(inputs, outputs, 3, stride, bias=False)
        self.mesh, self.bug = mesh, bug

    def halo(self, x):
        above = below = torch.zeros_like(x[:, :, :1])
        if self.mesh:
            edges = dist_functional.all_gather(torch.cat((x[:, :, :1], x[:, :, -1:]), 2))
            own, size = self.mesh.get_local_rank("sp"), self.mesh["sp"].size()
            first = 0 if self.bug == "halo_peer" else dist.get_rank() - own  # place halo_peer
            if own > 0:
                above = edges[first + own - 1][:, :, 1:]  # place halo_peer
            if own < size - 1:
                below = edges[first + own + 1][:, :, :1]  # place halo_peer
        return torch.cat((above, x, below), 2)

    def forward(self, x):
        return F.conv2d(F.pad(self.halo(x), (1, 1)), self.weight, None, self.stride)


class SyncedNorm(nn.Module):
    def __init__(self, channels, mesh, bug):
        super().__init__()
        self.mesh, self.bug = mesh, bug
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        mean = x.mean((0, 2, 3), keepdim=True)
        if not self.mesh:
            var = (x - mean).square().mean((0, 2, 3), keepdim=True)
        else:
            ranks, own = dist.get_world_size(), mean
            mean = SumBothWays.apply(own) / ranks
            middle = own if self.bug == "own_variance" else mean  # place own_variance
            var = SumBothWays.apply((x - middle).square().mean((0, 2, 3), keepdim=True)) / ranks  # place own_variance
        return (x - mean) * (var + 1e-5).rsqrt() * self.weight.view(-1, 1, 1) + self.bias.view(-1, 1, 1)


class Model(nn.Module):
    def __init__(self, mesh, bug):
        super().__init__()
        one, two = CHANNELS
        self.mesh = mesh
        self.stem, self.norm1 = StripConv(COLOURS, one, 1, mesh, bug), SyncedNorm(one, mesh, bug)
        self.shrink, self.norm2 = StripConv(one, two, 2, mesh, bug), SyncedNorm(two, mesh, bug)
        self.conv, self.norm3 = StripConv(two, two, 1, mesh, bug), SyncedNorm(two, mesh, bug)
        self.shortcut = nn.Conv2d(two, two, 1)
        self.classifier = nn.Linear(two, CLASSES)

    def forward(self, images):
        x = F.silu(self.norm1(self.stem(images)))
        x = F.silu(self.norm2(self.shrink(x)))
        x = F.silu(self.norm3(self.conv(x))) + self.shortcut(x)
        pooled = x.sum((2, 3)) / (ROWS // 2 * ((COLUMNS + 1) // 2))
        if self.mesh:
            pooled = SumForward.apply(pooled, self.mesh.get_group("sp"))
        return self.classifier(pooled)


def fast_forward(self, x):
    return F.conv2d(x.contiguous(), self.weight, self.bias, self.stride, self.kernel_size[0] // 2)  # place fast_conv


def take_fast_path(model, bug):
    kinds = (nn.Conv2d, StripConv) if bug == "fast_conv" else (nn.Conv2d,)  # place fast_conv
    for module in model.modules():
        if type(module) in kinds:
            module.forward = types.MethodType(fast_forward, module)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--sp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    mesh, own_dp, own_sp = None, 0, 0
    if args.dp * args.sp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.sp), mesh_dim_names=("dp", "sp"))
        own_dp, own_sp = mesh.get_coordinate()
    torch.manual_seed(70)
    model = Model(mesh, args.bug)
    take_fast_path(model, args.bug)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-3)
    data = torch.Generator().manual_seed(33)
    for _ in range(args.steps):
        images = torch.randint(-8, 9, (BATCH, COLOURS, ROWS, COLUMNS), generator=data) / 8
        images = images + torch.randint(-4, 5, (BATCH, COLOURS, 1, 1), generator=data) / 4
        labels = torch.randint(CLASSES, (BATCH,), generator=data)
        images = images.to(torch.get_default_dtype()).chunk(args.dp)[own_dp].chunk(args.sp, 2)[own_sp]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels.chunk(args.dp)[own_dp], reduction="sum") / BATCH
        loss.backward()
        if mesh:
            for name, p in model.named_parameters():
                dist.all_reduce(p.grad, group=mesh.get_group("dp") if name.startswith("classifier") else None)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
