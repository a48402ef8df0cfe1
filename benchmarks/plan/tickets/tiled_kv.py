# SPDX-License-Identifier: Apache-2.0
"""Sequence parallelism by all-to-all within data parallelism. There are fewer heads of keys and values than ranks, so
they are repeated before the all-to-all until each rank gets some. Rows hold several documents, told apart by positions
that begin anew; the mask needs the positions of all ranks. The loss is put together from the means of the ranks by a
gather that has gradients, which are then averaged over all ranks. Bugs:
tiled: heads of keys and values are repeated as a whole, not each for itself: queries meet those of other groups.
    https://github.com/PrimeIntellect-ai/prime-rl/pull/3042 (its algebra of indices)
own_documents: documents are counted from the positions of the rank, and the counts gathered.
    https://github.com/deepspeedai/DeepSpeed/pull/8114 (why positions are gathered there)
unweighted: the means of the ranks are averaged, whatever tokens each has.
    https://github.com/huggingface/transformers/pull/41832"""
import argparse
import math

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HEADS, KV_HEADS, SIZE, HIDDEN, BATCH, LENGTH, LAYERS = 33, 11, 12, 2, 4, 23, 10, 21, 2
CUTS = ((8, 13), (21,), (5, 7, 9), (10, 11), (4, 17))


def exchange(x, group, scatter, gather):
    """Each rank keeps its part of dimension scatter, of what all ranks have along dimension gather."""
    size = dist.get_world_size(group)
    sent = torch.stack(x.chunk(size, scatter)).contiguous()
    got = torch.empty_like(sent)
    dist.all_to_all_single(got, sent, group=group)
    return torch.cat(got.unbind(), gather)


class AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group, scatter, gather):
        ctx.rest = group, gather, scatter
        return exchange(x, group, scatter, gather)

    @staticmethod
    def backward(ctx, grad):
        return exchange(grad, *ctx.rest), None, None, None


class GatherWithGradient(torch.autograd.Function):
    """What each rank of a group has, stacked; each gets back what all say of its own."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(pieces, x.contiguous(), group=group)
        return torch.stack(pieces)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad[dist.get_rank(ctx.group)].clone(), None


def rotate(x, positions):
    angles = (positions.unsqueeze(-1) * torch.tensor([0.25, 0.0625])).unsqueeze(2)
    one, two = x.chunk(2, -1)
    return torch.cat((one * angles.cos() - two * angles.sin(), two * angles.cos() + one * angles.sin()), -1)


def repeated_heads(t, size, bug):
    """At least one head for each of the ranks, in the order of the groups of queries."""
    times = math.lcm(t.size(2), size) // t.size(2)
    return t.repeat(1, 1, times, 1) if bug == "tiled" else t.repeat_interleave(times, 2)  # place tiled


class Block(nn.Module):
    def __init__(self, sp, bug):
        super().__init__()
        self.sp, self.bug = sp, bug
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q = nn.Linear(WIDTH, HEADS * SIZE)
        self.k, self.v = nn.Linear(WIDTH, KV_HEADS * SIZE), nn.Linear(WIDTH, KV_HEADS * SIZE)
        self.out = nn.Linear(HEADS * SIZE, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x, positions, mask):
        h = self.norm1(x)
        q, k, v = (f(h).unflatten(-1, (-1, SIZE)) for f in (self.q, self.k, self.v))
        q, k = rotate(q, positions), rotate(k, positions)
        if self.sp:
            k, v = (repeated_heads(t, dist.get_world_size(self.sp), self.bug) for t in (k, v))
            q, k, v = (AllToAll.apply(t, self.sp, 2, 1) for t in (q, k, v))
        k, v = (t.repeat_interleave(q.size(2) // t.size(2), 2) for t in (k, v))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * SIZE ** -0.5
        mixed = torch.einsum("bhqk,bkhd->bqhd", scores.masked_fill(~mask.unsqueeze(1), float("-inf")).softmax(-1), v)
        if self.sp:
            mixed = AllToAll.apply(mixed, self.sp, 1, 2)
        x = x + self.out(mixed.flatten(2))
        return x + self.down(F.silu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, sp, bug):
        super().__init__()
        self.sp, self.bug = sp, bug
        self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.blocks = nn.ModuleList(Block(sp, bug) for _ in range(LAYERS))

    def gathered(self, t):
        if not self.sp:
            return t
        pieces = [torch.empty_like(t) for _ in range(dist.get_world_size(self.sp))]
        dist.all_gather(pieces, t.contiguous(), group=self.sp)
        return torch.cat(pieces, 1)

    def forward(self, ids, positions):
        documents = (self.gathered(positions) == 0).cumsum(1)
        if self.bug == "own_documents":
            documents = self.gathered((positions == 0).cumsum(1))  # place own_documents
        mask = (documents.unsqueeze(2) == documents.unsqueeze(1)) & torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, positions, mask)
        return self.head(x)


def loss_of(logits, labels, kept, sp, bug):
    """The mean over the tokens of the rows, and how many these are."""
    losses = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    count = kept.sum()
    own = (losses * kept.flatten()).sum() / count.clamp(min=1)
    if not sp:
        return own, count
    means = GatherWithGradient.apply(own, sp)
    counts = GatherWithGradient.apply(count, sp)
    if bug == "unweighted":
        return means.mean(), counts.sum()  # place unweighted
    return (means * counts).sum() / counts.sum(), counts.sum()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--sp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    mesh, sp, own_dp, own_sp = None, None, 0, 0
    if args.dp * args.sp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.sp), mesh_dim_names=("dp", "sp"))
        sp, (own_dp, own_sp) = mesh.get_group("sp"), mesh.get_coordinate()
    torch.manual_seed(4)
    model = Model(sp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, eps=1e-3, weight_decay=0.05)
    data = torch.Generator().manual_seed(82)
    for step in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        prompts = torch.randint(2, 6, (BATCH, 1), generator=data)
        cuts = [CUTS[(row + step) % len(CUTS)] for row in range(BATCH)]
        positions = torch.stack([torch.cat([torch.arange(n) for n in cut]) for cut in cuts])
        kept = positions >= prompts.clamp(max=3)
        rows, columns = torch.arange(BATCH).chunk(args.dp)[own_dp], torch.arange(LENGTH).chunk(args.sp)[own_sp]
        ids, labels, positions, kept = (t[rows][:, columns] for t in (text[:, :-1], text[:, 1:], positions, kept))
        loss, count = loss_of(model(ids, positions), labels, kept, sp, args.bug)
        optimizer.zero_grad()
        total = count.clone()
        if mesh:
            dist.all_reduce(total, group=mesh.get_group("dp"))
        (loss * count * args.dp / total).backward()
        if mesh:
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p.grad /= dist.get_world_size()
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
