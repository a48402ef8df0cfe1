# SPDX-License-Identifier: Apache-2.0
"""LoRA on a tensor- and sequence-parallel MLP: the base weights are frozen and split, of each pair of factors one is
split and one is whole; whole ones see the tokens of their rank only. The output layer is trained in full. Bugs: down_b
(mcore-bridge #173: the gradient of the whole factor after a row-split layer is not summed over tp), slice_back (NeMo
Speech #8369, sequence parallelism for LoRA: the gather before the split factor must scatter a sum in its backward; here
it takes a slice), bias_early (MinivLLM #80: each rank adds the bias of a row-split layer before the sum)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HIDDEN, RANK, BATCH, LENGTH, LAYERS, SCALE = 23, 12, 28, 3, 2, 10, 2, 2.0


def gathered(x, group):
    pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
    dist.all_gather(pieces, x, group=group)
    return torch.cat(pieces, 1)


def scattered(x, group):
    x = x.contiguous().clone()
    dist.all_reduce(x, group=group)
    return x.chunk(dist.get_world_size(group), 1)[dist.get_rank(group)].contiguous()


class Gather(torch.autograd.Function):
    """All tokens; what comes back is summed and scattered."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return gathered(x.contiguous(), group)

    @staticmethod
    def backward(ctx, grad):
        return scattered(grad, ctx.group), None


class GatherSlice(torch.autograd.Function):
    """All tokens, of which each rank computes the same."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return gathered(x.contiguous(), group)

    @staticmethod
    def backward(ctx, grad):
        group = ctx.group
        return grad.chunk(dist.get_world_size(group), 1)[dist.get_rank(group)].contiguous(), None


class Scatter(torch.autograd.Function):
    """The sum over the ranks, of which each keeps its tokens."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return scattered(x, group)

    @staticmethod
    def backward(ctx, grad):
        return gathered(grad.contiguous(), ctx.group), None


class ColumnLora(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.weight = nn.Parameter((torch.randn(HIDDEN, WIDTH) / 3).chunk(size)[rank].clone(), requires_grad=False)
        self.lora_a = nn.Parameter(torch.randn(RANK, WIDTH) / 3)
        self.lora_b = nn.Parameter((torch.randn(HIDDEN, RANK) / 3).chunk(size)[rank].clone())

    def forward(self, x):
        a = F.linear(x, self.lora_a)
        if self.tp:
            x = Gather.apply(x, self.tp)
            if self.bug == "slice_back":
                a = GatherSlice.apply(a, self.tp)  # place slice_back
            else:
                a = Gather.apply(a, self.tp)
        return F.linear(x, self.weight) + SCALE * F.linear(a, self.lora_b)


class RowLora(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.weight = nn.Parameter((torch.randn(WIDTH, HIDDEN) / 4).chunk(size, 1)[rank].clone(), requires_grad=False)
        self.bias = nn.Parameter(torch.randn(WIDTH) / 3, requires_grad=False)
        self.lora_a = nn.Parameter((torch.randn(RANK, HIDDEN) / 4).chunk(size, 1)[rank].clone())
        self.lora_b = nn.Parameter(torch.randn(WIDTH, RANK) / 3)

    def forward(self, x):
        early = self.bias if self.bug == "bias_early" else None  # place bias_early
        y, a = F.linear(x, self.weight, early), F.linear(x, self.lora_a)  # place bias_early
        if self.tp:
            y, a = Scatter.apply(y, self.tp), Scatter.apply(a, self.tp)
        y = y + SCALE * F.linear(a, self.lora_b)
        return y if early is not None else y + self.bias  # place bias_early


class Block(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.norm.requires_grad_(False)
        self.up, self.down = ColumnLora(tp, bug), RowLora(tp, bug)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp = tp
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.embed.requires_grad_(False)
        self.blocks = nn.ModuleList(Block(tp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    tp = None
    if args.tp > 1:
        dist.init_process_group("gloo")
        tp = dist.group.WORLD
    torch.manual_seed(6)
    model = Model(tp, args.bug)
    trained = [p for p in model.parameters() if p.requires_grad]
    # whole factors and the output layer see a part of the tokens
    endings = ("up.lora_a", "down.lora_b", "head.weight")
    if args.bug == "down_b":
        endings = ("up.lora_a", "head.weight")  # place down_b
    whole = [p for n, p in model.named_parameters() if n.endswith(endings)]  # place down_b
    optimizer = torch.optim.AdamW(trained, lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(8)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        ids, labels = text[:, :-1], text[:, 1:]
        if tp:
            ids, labels = (t.chunk(args.tp, 1)[dist.get_rank(tp)] for t in (ids, labels))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten(), reduction="sum") / (BATCH * LENGTH)
        loss.backward()
        if tp:
            for p in whole:
                dist.all_reduce(p.grad, group=tp)  # place down_b
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
