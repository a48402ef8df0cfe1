# SPDX-License-Identifier: Apache-2.0
"""A reward model is tuned by pairs of answers under FSDP2: embeddings and linear layers are frozen, norms and the
head that scores are trained, and low-rank adapters are put beside the linear layers after the model has been sharded.
So adapters are plain tensors, whole on each rank: a hook averages their gradients. Gradients of both kinds are clipped
together. Bugs:
adapters_unsynced: FSDP is trusted with all gradients: those of the adapters stay those of the rank's own pairs.
    https://github.com/hao-ai-lab/FastVideo/pull/1666
norm_replicated: squares of the adapters' gradients, equal on all ranks, are summed over them with those of shards.
    https://github.com/mindspore-ai/hyper-parallel/issues/413
optimizer_stale: the optimizer keeps the norms and the head as they were before sharding, which get no gradient more.
    https://github.com/mosaicml/composer/pull/3822"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, RANK, LAYERS, PAIRS, LENGTH = 37, 15, 3, 6, 27, 4, 2, 6, 10
ALPHA, LIMIT = 8, 0.2


class Adapted(nn.Module):
    """A frozen linear layer with a trained product of two narrow ones beside it."""
    def __init__(self, base):
        super().__init__()
        out, in_ = base.out_features, base.in_features
        self.base = base
        self.down, self.up = nn.Parameter(torch.randn(RANK, in_) / 3), nn.Parameter(torch.randn(out, RANK) / 5)

    def forward(self, x):
        y = F.linear(F.linear(x, self.down), self.up)  # place adapters_unsynced
        return self.base(x) + y * (ALPHA / RANK)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH, eps=1e-5), nn.RMSNorm(WIDTH, eps=1e-5)
        self.qkv = nn.Linear(WIDTH, 3 * HEADS * SIZE, bias=False)
        self.out = nn.Linear(HEADS * SIZE, WIDTH, bias=False)
        self.gate, self.value = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, SIZE)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.value(h))


class Reward(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.score = nn.RMSNorm(WIDTH, eps=1e-5), nn.Linear(WIDTH, 3)
        for name, p in self.named_parameters():
            p.requires_grad_("norm" in name or "score" in name)

    def forward(self, ids, last):
        x = self.embed(ids) + self.places.weight
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)[torch.arange(len(ids)), last]
        return self.score(x).tanh().sum(-1)


def shard(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def attach(model):
    """Puts adapters beside three layers of each block. Returns their parameters."""
    adapters = []
    for block in model.blocks:
        for name in ("qkv", "out", "down"):
            adapted = Adapted(getattr(block, name))
            setattr(block, name, adapted)
            adapters += [adapted.down, adapted.up]
    return adapters


def averaged(p):
    dist.all_reduce(p.grad)
    p.grad.div_(dist.get_world_size())


def local(t):
    return t.to_local() if isinstance(t, DTensor) else t


def clip(model, mesh, bug):
    """Scales all gradients to a norm of at most LIMIT."""
    split, whole = torch.zeros(()), torch.zeros(())
    for p in model.parameters():
        if p.grad is None:
            continue
        if isinstance(p.grad, DTensor) or bug == "norm_replicated":  # place norm_replicated
            split = split + local(p.grad).square().sum()  # place norm_replicated
        else:
            whole = whole + p.grad.square().sum()
    if mesh:
        dist.all_reduce(split, group=mesh.get_group())  # place norm_replicated
    factor = (LIMIT / ((split + whole).sqrt() + 1e-6)).clamp(max=1.0)
    for p in model.parameters():
        if p.grad is not None:
            local(p.grad).mul_(factor)


def trained(model):
    return [p for p in model.parameters() if p.requires_grad]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    mesh, own = None, 0
    if args.dp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp,), mesh_dim_names=("dp",))
        own = mesh.get_local_rank()
    torch.manual_seed(47)
    model = Reward()
    parts = trained(model)
    if mesh:
        shard(model, mesh)
        parts = parts if args.bug == "optimizer_stale" else trained(model)  # place optimizer_stale
    adapters = attach(model)
    if mesh and args.bug != "adapters_unsynced":  # place adapters_unsynced
        for p in adapters:
            p.register_post_accumulate_grad_hook(averaged)  # place adapters_unsynced
    groups = [{"params": parts, "lr": 0.01}, {"params": adapters, "lr": 0.03}]  # place optimizer_stale
    optimizer = torch.optim.Adam(groups, eps=1e-3)  # place optimizer_stale
    data = torch.Generator().manual_seed(74)
    for _ in range(args.steps):
        ids = torch.randint(VOCABULARY, (2, PAIRS, LENGTH), generator=data)
        last = torch.randint(3, LENGTH, (2, PAIRS), generator=data)
        margin = torch.randint(0, 5, (PAIRS,), generator=data) / 8
        rows = torch.arange(PAIRS).chunk(args.dp)[own]
        optimizer.zero_grad()
        rewards = model(ids[:, rows].flatten(0, 1), last[:, rows].flatten())
        chosen, rejected = rewards.chunk(2)
        (-F.logsigmoid(chosen - rejected - margin[rows])).mean().backward()
        clip(model, mesh, args.bug)
        optimizer.step()  # place optimizer_stale
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
