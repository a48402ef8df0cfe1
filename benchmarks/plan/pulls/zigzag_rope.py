# SPDX-License-Identifier: Apache-2.0
"""Ring attention over cp within data parallelism. Each packed document is cut into 2 cp chunks, of which a rank has one
from the front and one from the back. Rotary angles come from a table with a row for each token of the pack (time, row
and column of a patch). Keys and values go round with their gradients in the backward. Bugs:
stale_block: the backward of the ring takes the keys and values that were saved, its own, for those that came round.
    https://github.com/huggingface/diffusers/issues/14265
packed_table: the table is read without the offset of the document: later ones get the rows of the first.
    https://github.com/NVIDIA/Megatron-LM/pull/5243
tokens_dp: tokens of the loss are counted over dp only, though each rank of cp has counted its chunks alone.
    https://github.com/verl-project/verl/issues/5983"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HEADS, HEAD, HIDDEN, BATCH, LENGTH, LAYERS = 31, 7, 4, 6, 17, 10, 36, 2
PACKS = ((12, 24), (24, 12), (36,), (18, 18), (6, 12, 18))


def rotate(tensors, group):
    """Sends each tensor to the next rank, and returns those of the rank before."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    after, before = (dist.get_global_rank(group, (rank + d) % size) for d in (1, -1))
    tensors = [t.contiguous() for t in tensors]
    got = [torch.empty_like(t) for t in tensors]
    ops = [dist.P2POp(dist.isend, t, after, group) for t in tensors]
    ops += [dist.P2POp(dist.irecv, t, before, group) for t in got]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return got


class Ring(torch.autograd.Function):
    """Tensors are batch x heads x tokens x size; masks has one mask for each rank whose keys come round."""
    @staticmethod
    def forward(ctx, q, k, v, masks, group, bug):
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        ctx.masks, ctx.group, ctx.bug = masks, group, bug
        block, highest, total, out = (k, v), None, None, None
        for step in range(size):
            scores = (q @ block[0].mT * HEAD ** -0.5).masked_fill(~masks[(rank - step) % size], float("-inf"))
            high = scores.amax(-1, keepdim=True)
            high = high if step == 0 else torch.maximum(highest, high)
            weights = (scores - high).exp()
            if step == 0:
                total, out = weights.sum(-1, keepdim=True), weights @ block[1]
            else:
                fade = (highest - high).exp()
                total, out = total * fade + weights.sum(-1, keepdim=True), out * fade + weights @ block[1]
            highest = high
            if step < size - 1:
                block = rotate(block, group)
        out = out / total
        ctx.save_for_backward(q, k, v, out, highest + total.log())
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse = ctx.saved_tensors
        rank, size = dist.get_rank(ctx.group), dist.get_world_size(ctx.group)
        delta = (grad * out).sum(-1, keepdim=True)
        block, d_q, d_k, d_v = (k, v), torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for step in range(size):
            key, value = block
            if ctx.bug == "stale_block":
                key, value = k, v  # place stale_block
            scores = (q @ key.mT * HEAD ** -0.5).masked_fill(~ctx.masks[(rank - step) % size], float("-inf"))
            weights = (scores - lse).exp()
            d_scores = weights * (grad @ value.mT - delta) * HEAD ** -0.5
            d_q = d_q + d_scores @ key
            d_k, d_v = rotate((d_k + d_scores.mT @ q, d_v + weights.mT @ grad), ctx.group)
            if step < size - 1:
                block = rotate(block, ctx.group)
        return d_q, d_k, d_v, None, None, None


def turn(x, angles):
    """x is batch x tokens x heads x size."""
    first, second = x.chunk(2, -1)
    cos, sin = angles.cos().unsqueeze(2), angles.sin().unsqueeze(2)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


class Block(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.cp, self.bug = cp, bug
        self.norm, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * HEADS * HEAD)
        self.out = nn.Linear(HEADS * HEAD, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x, angles, masks):
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, HEADS, HEAD)).unbind(2)
        q, k, v = turn(q, angles).transpose(1, 2), turn(k, angles).transpose(1, 2), v.transpose(1, 2)
        if self.cp:
            y = Ring.apply(q, k, v, masks, self.cp, self.bug)
        else:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=masks[0])
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(cp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, angles, masks):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, angles, masks)
        return self.head(x)


def tokens_of(pack, rank, size):
    """Of the tokens of a pack those of this rank: a chunk from the front and one from the back of each document."""
    places, first = [], 0
    for length in pack:
        chunks = torch.arange(first, first + length).chunk(2 * size)
        places += [chunks[rank], chunks[2 * size - 1 - rank]]
        first += length
    return torch.cat(places).sort().values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    cp, mesh, own_dp, own_cp = None, None, 0, 0
    if args.dp * args.cp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.cp), mesh_dim_names=("dp", "cp"))
        cp, (own_dp, own_cp) = mesh.get_group("cp"), mesh.get_coordinate()
    torch.manual_seed(9)
    model = Model(cp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(36)
    for step in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        kept = torch.rand(BATCH, LENGTH, generator=data) < 0.7
        patches = torch.randint(1, 9, (BATCH, LENGTH, HEAD // 2), generator=data).cumsum(1)
        table = patches * torch.tensor([0.5, 0.125, 0.03125])
        packs = [PACKS[(row + step) % len(PACKS)] for row in range(BATCH)]
        rows = torch.arange(BATCH).chunk(args.dp)[own_dp]
        starts = [[sum(p[:i]) for i, n in enumerate(p) for _ in range(n)] for p in packs]
        starts = torch.tensor(starts)[rows]
        text, kept, table, packs = text[rows], kept[rows], table[rows], [packs[row] for row in rows]
        shares = [torch.stack([tokens_of(p, r, args.cp) for p in packs]) for r in range(args.cp)]
        mine = shares[own_cp]
        masks = []
        for share in shares:
            same = starts.gather(1, mine).unsqueeze(-1) == starts.gather(1, share).unsqueeze(-2)
            masks.append((same & (mine.unsqueeze(-1) >= share.unsqueeze(-2))).unsqueeze(1))
        where = mine
        if cp and args.bug == "packed_table":
            where = mine - starts.gather(1, mine)  # place packed_table
        angles = table.gather(1, where.unsqueeze(-1).expand(-1, -1, HEAD // 2))  # place packed_table
        ids, labels = text[:, :-1].gather(1, mine), text[:, 1:].gather(1, mine)
        kept = kept.gather(1, mine)
        total = kept.sum()
        if mesh:
            group = mesh.get_group("dp") if args.bug == "tokens_dp" else None
            dist.all_reduce(total, group=group)  # place tokens_dp
        optimizer.zero_grad()
        losses = F.cross_entropy(model(ids, angles, masks).flatten(0, 1), labels.flatten(), reduction="none")
        ((losses * kept.flatten()).sum() / total).backward()  # place tokens_dp
        if mesh:
            for p in model.parameters():
                dist.all_reduce(p.grad)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
