# SPDX-License-Identifier: Apache-2.0
"""Multi-token prediction with context parallelism: a trunk and one more block that gets the embedding of the next token
and predicts the one after it; both use one output layer. Each rank has a part of the sequence, keys and values are
gathered. Rows of the batch are padded, each loss is divided by its tokens of the whole batch. Bugs: local_roll (mbridge
#138 and torchtitan #3392: the next tokens are made by a roll within the rank's part), local_count (Megatron-LM #7452,
item 3: the loss of the second head is divided by the tokens of the rank), dead_gather (Megatron-LM #1464, wrong
gradients of attention with context parallelism, in the form of a gather: all_gather without autograd, the rank's own
part is put back, others get no gradient)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, BATCH, LENGTH, PAD = 24, 10, 3, 5, 14, 4, 12, -100


class Gather(torch.autograd.Function):
    """Parts of the sequence (dimension 2) of all ranks."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        x = x.contiguous()
        pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(pieces, x, group=group)
        return torch.cat(pieces, 2)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(grad, group=ctx.group)
        return grad.chunk(dist.get_world_size(ctx.group), 2)[dist.get_rank(ctx.group)], None


def dead_gather(x, group):
    x = x.contiguous()
    pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
    dist.all_gather(pieces, x.detach(), group=group)  # place dead_gather
    pieces[dist.get_rank(group)] = x  # place dead_gather
    return torch.cat(pieces, 2)  # place dead_gather


class Block(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.cp, self.bug = cp, bug
        self.norm, self.out = nn.RMSNorm(WIDTH), nn.Linear(HEADS * SIZE, WIDTH)
        self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * SIZE, bias=False) for _ in range(3))
        self.mlp = nn.Sequential(nn.RMSNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH))

    def forward(self, x, positions):
        h = self.norm(x)
        q, k, v = (w(h).unflatten(-1, (HEADS, SIZE)).transpose(1, 2) for w in (self.q, self.k, self.v))
        if self.cp and self.bug == "dead_gather":  # place dead_gather
            k, v = dead_gather(k, self.cp), dead_gather(v, self.cp)  # place dead_gather
        elif self.cp:
            k, v = Gather.apply(k, self.cp), Gather.apply(v, self.cp)
        mask = torch.arange(k.size(2)) <= positions[:, None]
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(a.transpose(1, 2).flatten(2))
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.block, self.norm = Block(cp, bug), nn.RMSNorm(WIDTH)
        self.join, self.extra = nn.Linear(2 * WIDTH, WIDTH), Block(cp, bug)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids, following, positions):
        h = self.block(self.embed(ids) + self.place(positions), positions)
        second = self.join(torch.cat([self.norm(h), self.embed(following)], -1))
        second = self.extra(second, positions)
        return self.head(self.norm(h)), self.head(self.norm(second))


def summed(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD, reduction="sum")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    cp, row, column = None, 0, 0
    if args.dp * args.cp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.cp), mesh_dim_names=("dp", "cp"))
        cp, row, column = mesh.get_group("cp"), mesh.get_local_rank("dp"), mesh.get_local_rank("cp")
    torch.manual_seed(41)
    model = Model(cp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(6)
    lengths = torch.tensor([12, 7, 9, 4])[:, None]

    def part(t):
        return t.chunk(args.dp)[row].chunk(args.cp, 1)[column]
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 2), generator=data)
        steps = torch.arange(LENGTH)
        ids, following = part(text[:, :-2]), part(text[:, 1:-1])
        first = part(text[:, 1:-1].masked_fill(steps >= lengths, PAD))
        second = part(text[:, 2:].masked_fill(steps >= lengths - 1, PAD))
        if args.bug == "local_roll":
            following = torch.roll(ids, -1, 1)  # place local_roll
        counts = torch.stack([(first != PAD).sum(), (second != PAD).sum()])
        whole = counts.clone()
        if cp:
            dist.all_reduce(whole)
        optimizer.zero_grad()
        one, two = model(ids, following, steps.chunk(args.cp)[column])
        if args.bug == "local_count":
            mean = summed(two, second) / (counts[1].clamp(min=1) * args.dp * args.cp)  # place local_count
        else:
            mean = summed(two, second) / whole[1]
        (summed(one, first) / whole[0] + 0.3 * mean).backward()
        if cp:
            for p in model.parameters():
                dist.all_reduce(p.grad)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
