# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism by DTensor beside data parallelism by hand: attention whose queries and keys are normalised for
each head, with weights that are whole on each rank and used as local tensors. Bugs:
norm_local: the weights are taken as local tensors with no word on their gradients, of which each rank has a part.
    https://github.com/pytorch/torchtitan/pull/2532 (issue 2217)
reduced_twice: what goes into the MLP is summed backward by hand, and by the layer again.
    https://github.com/pytorch/pytorch/pull/175867
partial_round: a sum in parts is taken as local and made a DTensor of parts again; its gradient, which is whole, passes
    for one in parts (torch did so by default).
    https://github.com/pytorch/pytorch/issues/172932"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, BATCH, LENGTH, LAYERS = 22, 15, 4, 6, 18, 6, 7, 2


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Block(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * SIZE, bias=False) for _ in range(3))
        self.out = nn.Linear(HEADS * SIZE, WIDTH, bias=False)
        self.q_scale, self.k_scale = (nn.Parameter(1 + torch.randn(SIZE) / 4) for _ in range(2))
        self.up, self.down = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(HIDDEN, WIDTH, bias=False)

    def split(self):
        whole, parts = {"output_layouts": Shard(-1)}, {"output_layouts": Partial(), "use_local_output": False}
        parallelize_module(self, self.tp, {
            "q": ColwiseParallel(**whole), "k": ColwiseParallel(**whole), "v": ColwiseParallel(**whole),
            "out": RowwiseParallel(**parts), "up": ColwiseParallel(), "down": RowwiseParallel()})
        for name in ("q_scale", "k_scale"):
            setattr(self, name, nn.Parameter(distribute_tensor(getattr(self, name).data, self.tp, [Replicate()])))

    def normed(self, x, weight):
        x = x.unflatten(-1, (-1, SIZE))
        if self.tp and self.bug == "norm_local":
            weight = weight.to_local()  # place norm_local
        elif self.tp:
            weight = weight.to_local(grad_placements=[Partial()])  # place norm_local
        return (x * (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * weight).transpose(1, 2)  # place norm_local

    def attention(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x).unflatten(-1, (-1, SIZE)).transpose(1, 2)
        q, k = self.normed(q, self.q_scale), self.normed(k, self.k_scale)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = self.out(y.transpose(1, 2).flatten(2))
        if self.tp and self.bug == "partial_round":
            y = y.to_local(grad_placements=[Partial()])  # place partial_round
            y = DTensor.from_local(y, self.tp, [Partial()])
        return y.redistribute(placements=[Replicate()]).to_local() if self.tp else y

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        h = self.norm2(x)
        if self.tp and self.bug == "reduced_twice":
            h = Copy.apply(h, self.tp.get_group())  # place reduced_twice
        return x + self.down(F.gelu(self.up(h)))


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(tp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)
        if tp:
            for block in self.blocks:
                block.split()

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    dp = tp = None
    row = 0
    if args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
        dp, tp, row = mesh.get_group("dp"), mesh["tp"], mesh.get_local_rank("dp")
    torch.manual_seed(66)
    model = Model(tp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4, foreach=False)
    data = torch.Generator().manual_seed(18)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data).chunk(args.dp)[row]
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        if dp:
            for p in model.parameters():
                grad = p.grad.to_local() if isinstance(p.grad, DTensor) else p.grad
                dist.all_reduce(grad, group=dp)
                grad /= args.dp
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
