# SPDX-License-Identifier: Apache-2.0
"""Megatron's tensor parallelism with sequence parallelism, by hand: the sequence is split between the layers, gathered
before a column-parallel one, and summed and scattered after a row-parallel one. Embeddings and the loss are split by
vocabulary; padding has no gradient. Tokens of the loss have weights. Beside the output of attention is a low-rank pair,
of which the first is split with the heads and the second is whole. Gradients of whole parameters that see a part of the
sequence are summed after the backward if they are marked. Bugs:
padding_shards: the number of the padding token is given to each shard of the table, and names other rows there.
    https://github.com/pytorch/torchtitan/pull/4637
lora_unmarked: the second of the low-rank pair is not marked: it keeps the gradient of the rank's part of the sequence.
    https://github.com/modelscope/mcore-bridge/pull/173
first_weight: the backward of the loss takes the gradient of the first token for all.
    https://github.com/NVIDIA-NeMo/Automodel/pull/3853"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, RANK, LAYERS, BATCH, LENGTH, PADDING = 33, 10, 6, 4, 27, 5, 2, 7, 12, 4


def size():
    return dist.get_world_size() if dist.is_initialized() else 1


def rank():
    return dist.get_rank() if dist.is_initialized() else 0


def gathered(x):
    parts = [torch.empty_like(x) for _ in range(size())]
    dist.all_gather(parts, x.contiguous())
    return torch.cat(parts)


def summed_and_scattered(x):
    part = torch.empty_like(x.chunk(size())[0])
    dist.reduce_scatter(part, [t.contiguous() for t in x.chunk(size())])
    return part


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return gathered(x)

    @staticmethod
    def backward(ctx, grad):
        return summed_and_scattered(grad)


class ReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return summed_and_scattered(x)

    @staticmethod
    def backward(ctx, grad):
        return gathered(grad)


def from_sequence(x):
    return Gather.apply(x) if size() > 1 else x


def to_sequence(x):
    return ReduceScatter.apply(x) if size() > 1 else x


class VocabularyLoss(torch.autograd.Function):
    """Losses of tokens; logits are those of this rank's part of the vocabulary."""
    @staticmethod
    def forward(ctx, logits, labels, first, bug):
        high = logits.amax(-1)
        dist.all_reduce(high, op=dist.ReduceOp.MAX)
        shifted = logits - high.unsqueeze(-1)
        exps = shifted.exp()
        total = exps.sum(-1)
        dist.all_reduce(total)
        elsewhere = (labels < first) | (labels >= first + logits.size(-1))
        mine = (labels - first).masked_fill(elsewhere, 0)
        wanted = shifted.gather(-1, mine.unsqueeze(-1)).squeeze(-1).masked_fill(elsewhere, 0.0)
        dist.all_reduce(wanted)
        ctx.bug = bug
        ctx.save_for_backward(exps / total.unsqueeze(-1), mine, elsewhere)
        return total.log() - wanted

    @staticmethod
    def backward(ctx, grad):
        probabilities, mine, elsewhere = ctx.saved_tensors
        hot = F.one_hot(mine, probabilities.size(-1)) * ~elsewhere.unsqueeze(-1)
        scale = grad.flatten()[0] if ctx.bug == "first_weight" else grad.unsqueeze(-1)  # place first_weight
        return (probabilities - hot) * scale, None, None, None  # place first_weight


def mine(weight, dim=0, blocks=1):
    """This rank's part of a weight; of each of its blocks, if it has several."""
    parts = [block.chunk(size(), dim)[rank()] for block in weight.chunk(blocks, dim)]
    return nn.Parameter(torch.cat(parts, dim).clone())


def whole(tensor):
    """A parameter that each rank has, and uses for its part of the sequence."""
    p = nn.Parameter(tensor)
    p.sequence_parallel = True
    return p


class Embedding(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.weight, self.bug = mine(torch.randn(VOCABULARY, WIDTH)), bug

    def forward(self, ids):
        if size() == 1:
            return F.embedding(ids, self.weight, padding_idx=PADDING)
        rows = len(self.weight)
        first, padding = rank() * rows, PADDING
        if self.bug != "padding_shards":  # place padding_shards
            padding = PADDING - first if first <= PADDING < first + rows else None
        elsewhere = (ids < first) | (ids >= first + rows)
        ids = (ids - first).masked_fill(elsewhere, 0)
        x = F.embedding(ids, self.weight, padding_idx=padding)  # place padding_shards
        return to_sequence(x.masked_fill(elsewhere.unsqueeze(-1), 0.0))


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = whole(torch.ones(WIDTH)), whole(torch.zeros(WIDTH))

    def forward(self, x):
        return F.layer_norm(x, (WIDTH,), self.weight, self.bias)


class Layer(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.norm1, self.norm2 = Norm(), Norm()
        self.qkv = mine(torch.randn(3 * HEADS * SIZE, WIDTH) / 3, blocks=3)
        self.out, self.out_bias = mine(torch.randn(WIDTH, HEADS * SIZE) / 5, 1), whole(torch.zeros(WIDTH))
        self.lora_a = mine(torch.randn(RANK, HEADS * SIZE) / 5, 1)
        self.lora_b = nn.Parameter(torch.randn(WIDTH, RANK) / 4)
        self.lora_b.sequence_parallel = bug != "lora_unmarked"  # place lora_unmarked
        self.up, self.up_bias = mine(torch.randn(HIDDEN, WIDTH) / 3), mine(torch.zeros(HIDDEN))
        self.down, self.down_bias = mine(torch.randn(WIDTH, HIDDEN) / 5, 1), whole(torch.zeros(WIDTH))

    def attention(self, x):
        """Tokens come first, then rows of the batch."""
        q, k, v = F.linear(from_sequence(x), self.qkv).unflatten(-1, (3, -1, SIZE)).permute(2, 1, 3, 0, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).permute(2, 0, 1, 3).flatten(2)
        narrow = to_sequence(F.linear(y, self.lora_a))
        return to_sequence(F.linear(y, self.out)) + self.out_bias + F.linear(narrow, self.lora_b)  # place lora_unmarked

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        h = F.gelu(F.linear(from_sequence(self.norm2(x)), self.up, self.up_bias))
        return x + to_sequence(F.linear(h, self.down)) + self.down_bias


class Model(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.embed, self.places = Embedding(bug), whole(torch.randn(LENGTH, 1, WIDTH) / 2)
        self.layers = nn.ModuleList(Layer(bug) for _ in range(LAYERS))
        self.norm, self.head = Norm(), mine(torch.randn(VOCABULARY, WIDTH) / 3)

    def forward(self, ids, labels, weights):
        x = self.embed(ids) + self.places.chunk(size())[rank()]
        for layer in self.layers:
            x = layer(x)
        logits = F.linear(from_sequence(self.norm(x)), self.head)
        if size() > 1:
            losses = VocabularyLoss.apply(logits, labels, rank() * logits.size(-1), self.bug)
        else:
            losses = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)
        return (losses * weights).sum() / weights.sum()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    if args.tp > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(33)
    model = Model(args.bug)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, eps=1e-3)
    data = torch.Generator().manual_seed(66)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (LENGTH + 1, BATCH), generator=data)
        text[:3, :2] = PADDING
        weights = torch.randint(1, 6, (LENGTH, BATCH), generator=data) / 4
        optimizer.zero_grad()
        model(text[:-1], text[1:], weights).backward()
        if args.tp > 1:
            for p in model.parameters():
                if getattr(p, "sequence_parallel", False):
                    dist.all_reduce(p.grad)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
