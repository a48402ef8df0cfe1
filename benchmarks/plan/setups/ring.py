"""Causal ring attention: queries stay, keys and values travel from rank to rank, and blocks are merged by their lse.

--merge flash   the kernel of each block, merged as torch's context parallelism does: sigmoid and logsigmoid
        log1p   the same, merged by a maximum and log1p
        online  scores by hand with a running maximum, and autograd through it; keys and values are gathered
--ranks 1 runs scaled_dot_product_attention on the whole sequence."""
import argparse
import math

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

forward_kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
backward_kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def pass_on(tensors, rank, ranks, group=None):
    """Send to the next rank of the group, receive from the one before."""
    after, before = (dist.get_global_rank(group or dist.group.WORLD, (rank + step) % ranks) for step in (1, -1))
    arrived = [torch.empty_like(t) for t in tensors]
    jobs = [dist.P2POp(dist.isend, t.contiguous(), after, group) for t in tensors]
    jobs += [dist.P2POp(dist.irecv, t, before, group) for t in arrived]
    for job in dist.batch_isend_irecv(jobs):
        job.wait()
    return arrived


def merged(merge, out, lse, block, block_lse):
    if merge == "flash":
        weight = torch.sigmoid(block_lse - lse).unsqueeze(-1)
        return out - weight * (out - block), lse - F.logsigmoid(lse - block_lse)
    high, low = torch.maximum(lse, block_lse), torch.minimum(lse, block_lse)
    new = high + torch.log1p(torch.exp(low - high))
    scale, block_scale = torch.exp(lse - new).unsqueeze(-1), torch.exp(block_lse - new).unsqueeze(-1)
    return out * scale + block * block_scale, new


class Ring(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, merge, rank, ranks, group=None):
        out = lse = None
        ctx.rank, ctx.ranks, ctx.group, kept = rank, ranks, group, (k, v)
        for hop in range(ranks):
            if hop <= rank:
                block, block_lse = forward_kernel(q, k, v, 0.0, hop == 0)
                out, lse = (block, block_lse) if hop == 0 else merged(merge, out, lse, block, block_lse)
            if hop + 1 < ranks:
                k, v = pass_on((k, v), rank, ranks, group)
        ctx.save_for_backward(q, *kept, out, lse)
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse = ctx.saved_tensors
        rank, ranks = ctx.rank, ctx.ranks
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for hop in range(ranks):
            if hop <= rank:
                parts = backward_kernel(grad.contiguous(), q, k, v, out, lse, 0.0, hop == 0)
                dq, dk, dv = dq + parts[0], dk + parts[1], dv + parts[2]
            k, v, dk, dv = pass_on((k, v, dk, dv), rank, ranks, ctx.group)
        return dq, dk, dv, None, None, None, None


class Gather(torch.autograd.Function):
    """All-gather along dimension 2; its backward reduces and scatters."""

    @staticmethod
    def forward(ctx, x, ranks):
        ctx.ranks = ranks
        parts = [torch.empty_like(x) for _ in range(ranks)]
        dist.all_gather(parts, x.contiguous())
        return torch.stack(parts)

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad[0])
        dist.reduce_scatter(out, [part.contiguous() for part in grad])
        return out, None


def online(q, k, v, rank, ranks):
    keys, values = Gather.apply(k, ranks), Gather.apply(v, ranks)
    highest = total = out = None
    for block in range(rank, -1, -1):
        scores = q @ keys[block].transpose(2, 3) / math.sqrt(q.shape[-1])
        if block == rank:
            later = torch.ones(scores.shape[2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        local = scores.amax(-1, keepdim=True).detach()
        new = local if highest is None else torch.maximum(highest, local)
        weights = torch.exp(scores - new)
        if highest is None:
            total, out = weights.sum(-1, keepdim=True), weights @ values[block]
        else:
            scale = torch.exp(highest - new)
            total, out = total * scale + weights.sum(-1, keepdim=True), out * scale + weights @ values[block]
        highest = new
    return out / total


class Layer(nn.Module):
    def __init__(self, args, rank):
        super().__init__()
        self.args, self.rank = args, rank
        inner = args.heads * args.head_size
        self.norm = nn.LayerNorm(args.width)
        self.qkv, self.out = nn.Linear(args.width, 3 * inner), nn.Linear(inner, args.width)

    def forward(self, x):
        args = self.args
        q, k, v = (t.view(*x.shape[:2], args.heads, args.head_size).transpose(1, 2)
                   for t in self.qkv(self.norm(x)).chunk(3, -1))
        if args.ranks == 1:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        elif args.merge == "online":
            y = online(q, k, v, self.rank, args.ranks)
        else:
            y = Ring.apply(q, k, v, args.merge, self.rank, args.ranks)
        return x + self.out(y.transpose(1, 2).flatten(2))


class Model(nn.Module):
    def __init__(self, args, rank):
        super().__init__()
        self.embed = nn.Embedding(args.vocabulary, args.width)
        self.layers = nn.ModuleList(Layer(args, rank) for _ in range(args.layers))
        self.head = nn.Linear(args.width, args.vocabulary)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def loss_of(logits, targets, ranks):
    """The mean over all tokens of all ranks: this rank's part of it."""
    total = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    return total / (targets.numel() * ranks)


def reduce_gradients(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("ranks", 1), ("width", 7), ("heads", 5), ("head-size", 4), ("length", 18), ("batch", 2),
                          ("layers", 2), ("vocabulary", 13)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--merge", default="flash", choices=("flash", "log1p", "online"))
    args = parser.parse_args()
    rank = 0
    if args.ranks > 1:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(0)
    model = Model(args, rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for number in range(3):
        made = torch.Generator().manual_seed(number)
        text = torch.randint(args.vocabulary, (args.batch, args.length + 1), generator=made)
        tokens, targets = (t.chunk(args.ranks, 1)[rank] for t in (text[:, :-1], text[:, 1:]))
        optimizer.zero_grad()
        loss_of(model(tokens), targets, args.ranks).backward()
        if args.ranks > 1:
            reduce_gradients(model)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
