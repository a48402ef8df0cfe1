"""Heads of attention split over two ranks under torchrun; gradients added up by a hook."""

import sched

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from options import options

CONTEXT = 24


def reduce_sum(x):
    """The sum over ranks, with this rank's own gradient."""
    total = x.detach().clone()
    dist.all_reduce(total)
    return x + (total - x.detach())


def copy_in(x):
    """Into the split part: what its ranks send back adds up."""

    def add_up(grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad

    x = x.view_as(x)
    if x.requires_grad:
        x.register_hook(add_up)
    return x


class ShardedLinear(nn.Module):
    def __init__(self, inputs, outputs, generator):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        with torch.no_grad():
            self.weight.normal_(0.0, inputs**-0.5, generator=generator)
        self.weight.tensor_model_parallel = True

    def forward(self, x):
        return F.linear(x, self.weight)


class Attention(nn.Module):
    def __init__(self, dim, heads, generator):
        super().__init__()
        self.heads, part = heads, dim // dist.get_world_size()
        self.qkv = ShardedLinear(dim, 3 * part, generator)
        self.proj = ShardedLinear(part, dim, generator)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(copy_in(x)).chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        probs = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
        return reduce_sum(self.proj((probs @ v).transpose(1, 2).flatten(2)))


class LM(nn.Module):
    def __init__(self, dim, generator):
        super().__init__()
        self.embed = nn.Embedding(128, dim)
        self.position = nn.Parameter(torch.zeros(CONTEXT, dim))
        self.input_norm, self.final_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = Attention(dim, 2, generator)
        self.head = nn.Linear(dim, 128, bias=False)

    def forward(self, ids):
        x = self.embed(ids) + self.position
        x = x + self.attention(self.input_norm(x))
        return self.head(self.final_norm(x))


def main():
    args = options(lr=4e-3, width=32, steps=40)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    with open(sched.__file__) as f:
        data = torch.tensor([min(ord(c), 127) for c in f.read()])
    model = LM(args.width, torch.Generator().manual_seed(args.seed * 10 + rank))
    replicated = [p for p in model.parameters() if not getattr(p, "tensor_model_parallel", False)]
    for p in replicated:
        dist.broadcast(p.data, 0)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr * 50, momentum=0.9)
    for step in range(args.steps):
        at = torch.randint(len(data) - CONTEXT - 1, (12,)).tolist()
        batch = torch.stack([data[i : i + CONTEXT + 1] for i in at])
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 13 == 12:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
