# SPDX-License-Identifier: Apache-2.0
"""A student learns from labels, and from a teacher that is a moving average of it. Layers are split over tp by hand.
Over dp the optimizer is sharded (ZeRO-1): parameters lie in one flat buffer, their gradients in another, which is
reduced and scattered in place, so a rank has the sums in its own slice alone; it clips, updates its slice and that of
the teacher, and the slices are gathered. Bugs:
norm_buffer: the norm is taken over the whole buffer of gradients, where other slices are not reduced.
    https://github.com/karpathy/llm.c/pull/524
copies_counted: gradients that all ranks of tp have are counted in the norm by each.
    https://github.com/NVIDIA-NeMo/RL/pull/3788
teacher_ungathered: slices of the teacher are updated by their ranks, and not given to the others.
    https://github.com/OpenRLHF/OpenRLHF/pull/1357"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

FEATURES, PATCHES, WIDTH, HIDDEN, CLASSES, LAYERS, BATCH, LIMIT, DECAY = 5, 7, 9, 22, 4, 3, 10, 0.1, 0.75


class SumGradient(torch.autograd.Function):
    """Before a layer that is split: gradients of its input are summed."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Sum(torch.autograd.Function):
    """After a layer that is split: its results are summed."""
    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Layer(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.tp = tp
        size, rank = (dist.get_world_size(tp), dist.get_rank(tp)) if tp else (1, 0)
        self.norm, self.mix = nn.LayerNorm(WIDTH), nn.Linear(PATCHES, PATCHES)
        up, down = torch.randn(HIDDEN, WIDTH) / 3, torch.randn(WIDTH, HIDDEN) / 4
        self.up = nn.Parameter(up.chunk(size)[rank].clone())
        self.down, self.bias = nn.Parameter(down.chunk(size, 1)[rank].clone()), nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        x = x + self.mix(x.mT).mT
        h = self.norm(x)
        h = SumGradient.apply(h, self.tp) if self.tp else h
        h = F.linear(F.gelu(F.linear(h, self.up)), self.down)
        return x + (Sum.apply(h, self.tp) if self.tp else h) + self.bias


class Net(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.front, self.layers = nn.Linear(FEATURES, WIDTH), nn.ModuleList(Layer(tp) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        x = self.front(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))


class Pair(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.student, self.teacher = Net(tp), Net(tp)
        self.teacher.load_state_dict(self.student.state_dict())
        self.teacher.requires_grad_(False)

    def loss(self, clean, noisy, labels):
        with torch.no_grad():
            wanted = self.teacher(clean).softmax(-1)
        logits = self.student(noisy)
        return F.cross_entropy(logits, labels) + 2 * F.mse_loss(logits.softmax(-1), wanted)


def flatten(params, parts):
    """Puts parameters into one buffer, whose length is a multiple of parts."""
    total = sum(p.numel() for p in params)
    flat, start = torch.zeros(-(-total // parts) * parts), 0
    for p in params:
        flat[start:start + p.numel()] = p.data.flatten()
        p.data = flat[start:start + p.numel()].view_as(p)
        start += p.numel()
    return flat


class ShardedAdam:
    def __init__(self, pair, mesh, bug):
        self.bug, self.dp = bug, mesh.get_group("dp")
        size, rank = mesh["dp"].size(), mesh["dp"].get_local_rank()
        params = list(pair.student.parameters())
        self.flat, self.teacher = flatten(params, size), flatten(list(pair.teacher.parameters()), size)
        self.grads, self.counted, start = torch.zeros_like(self.flat), torch.ones_like(self.flat), 0
        for name, p in pair.student.named_parameters():
            end = start + p.numel()
            p.grad = self.grads[start:end].view_as(p)
            if not name.endswith((".up", ".down")) and mesh["tp"].get_local_rank() > 0:
                self.counted[start:end] = 1.0 if bug == "copies_counted" else 0.0  # place copies_counted
            start = end
        part = len(self.flat) // size
        self.own = slice(rank * part, rank * part + part)
        self.shard = nn.Parameter(self.flat[self.own])
        self.adam = torch.optim.AdamW([self.shard], lr=0.02, eps=1e-3)

    def zero_grad(self):
        self.grads.zero_()

    def step(self):
        reduced = torch.empty_like(self.shard)
        dist.reduce_scatter_tensor(reduced, self.grads, group=self.dp)
        self.grads[self.own] = reduced / dist.get_world_size(self.dp)
        seen = slice(None) if self.bug == "norm_buffer" else self.own  # place norm_buffer
        total = (self.grads[seen].square() * self.counted[seen]).sum()  # place norm_buffer copies_counted
        dist.all_reduce(total)
        self.shard.grad = self.grads[self.own] * (LIMIT / (total.sqrt() + 1e-6)).clamp(max=1.0)
        self.adam.step()
        dist.all_gather_into_tensor(self.flat, self.shard.detach().clone(), group=self.dp)

    def update_teacher(self):
        mine = self.teacher[self.own].lerp(self.flat[self.own], 1 - DECAY)
        self.teacher[self.own] = mine  # place teacher_ungathered
        if self.bug != "teacher_ungathered":  # place teacher_ungathered
            dist.all_gather_into_tensor(self.teacher, mine, group=self.dp)


class PlainAdam:
    def __init__(self, pair):
        self.pair, self.params = pair, list(pair.student.parameters())
        self.adam = torch.optim.AdamW(self.params, lr=0.02, eps=1e-3)

    def zero_grad(self):
        self.adam.zero_grad()

    def step(self):
        total = sum(p.grad.square().sum() for p in self.params)
        factor = (LIMIT / (total.sqrt() + 1e-6)).clamp(max=1.0)
        for p in self.params:
            p.grad.mul_(factor)
        self.adam.step()

    @torch.no_grad()
    def update_teacher(self):
        for old, new in zip(self.pair.teacher.parameters(), self.params):
            old.lerp_(new, 1 - DECAY)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    mesh, own = None, 0
    if args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
        own = mesh["dp"].get_local_rank()
    torch.manual_seed(64)
    pair = Pair(mesh.get_group("tp") if mesh else None)
    optimizer = ShardedAdam(pair, mesh, args.bug) if mesh else PlainAdam(pair)
    data = torch.Generator().manual_seed(46)
    rows = torch.arange(BATCH).chunk(args.dp)[own]
    for _ in range(args.steps):
        clean = torch.randint(-12, 13, (BATCH, PATCHES, FEATURES), generator=data) / 8
        noise = torch.randint(-3, 4, (BATCH, PATCHES, FEATURES), generator=data) / 16
        labels = torch.randint(CLASSES, (BATCH,), generator=data)
        clean, noise = clean.to(torch.get_default_dtype())[rows], noise.to(torch.get_default_dtype())[rows]
        optimizer.zero_grad()
        pair.loss(clean, clean + noise, labels[rows]).backward()
        optimizer.step()
        optimizer.update_teacher()
    return pair


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
