# SPDX-License-Identifier: Apache-2.0
"""Context parallelism over packed documents, within data parallelism: each document is padded to 2 cp chunks, of which
a rank takes one from the front and one from the back; keys and values of all ranks are gathered for each attention, and
the mask is made from the positions of queries and keys in the pack. Few heads of keys and values. Bugs:
floor_lengths: the lengths of documents are rounded down to a multiple of cp: what stands last is taken for padding.
    https://github.com/NVIDIA/TransformerEngine/issues/1930
plain_split: ids are dealt out as they stand, while positions, masks and labels are those of balanced chunks.
    https://github.com/feifeibear/long-context-attention/issues/53
physical_mask: the causal mask takes the gathered keys for keys in the order of the pack.
    https://github.com/AI-Hypercomputer/maxtext/pull/4537 (what the change of the kernels is about)"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HEADS, KV_HEADS, SIZE, HIDDEN, BATCH, LENGTH, LAYERS, END = 31, 14, 6, 3, 4, 19, 10, 32, 2, 0
PACKS = ((7, 9, 10), (13, 14), (5, 6, 11, 3), (30,), (12, 17))
PADDED = 4


class GatherTokens(torch.autograd.Function):
    """The tokens of all ranks of a group, in the order of the ranks; gradients are summed for those whose they are."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(pieces, x.contiguous(), group=group)
        return torch.cat(pieces, 1)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad.chunk(dist.get_world_size(ctx.group), 1)[dist.get_rank(ctx.group)].contiguous(), None


def rotate(x, angles):
    cos, sin = angles.cos().unsqueeze(2), angles.sin().unsqueeze(2)
    one, two = x.chunk(2, -1)
    return torch.cat((one * cos - two * sin, two * cos + one * sin), -1)


class Block(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH, eps=1e-5), nn.RMSNorm(WIDTH, eps=1e-5)
        self.q = nn.Linear(WIDTH, HEADS * SIZE, bias=False)
        self.kv = nn.Linear(WIDTH, 2 * KV_HEADS * SIZE, bias=False)
        self.out = nn.Linear(HEADS * SIZE, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x, angles, mask, real):
        h = self.norm1(x)
        q = rotate(self.q(h).unflatten(-1, (HEADS, SIZE)), angles)
        k, v = self.kv(h).chunk(2, -1)
        k, v = rotate(k.unflatten(-1, (KV_HEADS, SIZE)), angles), v.unflatten(-1, (KV_HEADS, SIZE))
        if self.group:
            k, v = GatherTokens.apply(torch.cat((k, v), -1), self.group).chunk(2, -1)
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, 2) for t in (k, v))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * SIZE ** -0.5
        weights = scores.masked_fill(~mask.unsqueeze(1), float("-inf")).softmax(-1)
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2)
        x = x + self.out(mixed * real.unsqueeze(-1))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(group) for _ in range(LAYERS))
        self.norm, self.head = nn.RMSNorm(WIDTH, eps=1e-5), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, angles, mask, real):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, angles, mask, real)
        return self.head(self.norm(x))


def pack_up(pack):
    """Of each place of a pack: its document, where it stands in it, and how long that is."""
    rows = []
    for n, length in enumerate(pack):
        rows += [(n, place, length) for place in range(-(-length // PADDED) * PADDED)]
    return torch.tensor(rows).T


def balanced(documents, size, rank):
    """The places of a rank: of each document a chunk from the front and one from the back."""
    places = []
    for n in range(documents.max() + 1):
        chunks = (documents == n).nonzero().flatten().chunk(2 * size)
        places += [chunks[rank], chunks[2 * size - 1 - rank]]
    return torch.cat(places)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    group, own_dp, own_cp = None, 0, 0
    if args.dp * args.cp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.cp), mesh_dim_names=("dp", "cp"))
        group, (own_dp, own_cp) = mesh.get_group("cp"), mesh.get_coordinate()
    torch.manual_seed(21)
    model = Model(group)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(57)
    for step in range(args.steps):
        text = torch.randint(1, VOCABULARY, (BATCH, LENGTH), generator=data)
        documents, places, lengths = torch.stack([pack_up(PACKS[(row + step) % len(PACKS)]) for row in range(BATCH)], 1)
        labels = torch.where(places < lengths - 1, text.roll(-1, 1), END)
        rows = torch.arange(BATCH).chunk(args.dp)[own_dp]
        text, labels, documents, places, lengths = (t[rows] for t in (text, labels, documents, places, lengths))
        shares = [torch.stack([balanced(d, args.cp, rank) for d in documents]) for rank in range(args.cp)]
        mine, keys = shares[own_cp], torch.cat(shares, 1)
        taken = mine
        if args.bug == "plain_split":
            taken = torch.arange(LENGTH).chunk(args.cp)[own_cp].expand_as(mine)  # place plain_split
        ids, labels = text.gather(1, taken), labels.gather(1, mine)  # place plain_split
        ends = lengths // args.cp * args.cp if args.bug == "floor_lengths" else lengths  # place floor_lengths
        real = (places < ends).gather(1, mine)
        kept = (places < lengths).gather(1, mine)
        order = torch.arange(LENGTH).expand_as(keys) if args.bug == "physical_mask" else keys  # place physical_mask
        mask = documents.gather(1, mine).unsqueeze(2) == documents.gather(1, order).unsqueeze(1)
        mask = mask & (mine.unsqueeze(2) >= order.unsqueeze(1))  # place physical_mask
        angles = places.gather(1, mine).unsqueeze(-1) * torch.tensor([0.5, 0.125])
        total = kept.sum()
        if group:
            dist.all_reduce(total)
        optimizer.zero_grad()
        losses = F.cross_entropy(model(ids, angles, mask, real).flatten(0, 1), labels.flatten(), reduction="none")
        ((losses * kept.flatten()).sum() / total).backward()
        if group:
            for p in model.parameters():
                dist.all_reduce(p.grad)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
