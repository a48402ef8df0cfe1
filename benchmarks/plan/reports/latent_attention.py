# SPDX-License-Identifier: Apache-2.0
"""Latent attention over tensor parallelism, without sequence parallelism: projections down are whole on each rank,
those up are split by heads, and the rotary key is one for all heads. Clipping by the norm of all gradients. Bugs:
rope_key: the rotary key is used by the heads of each rank, and what they send back is not summed.
    https://github.com/NVIDIA/Megatron-LM/issues/1699
reduced_again: gradients of the projections down, which are complete, are summed over tp once more.
    https://github.com/inclusionAI/AReno/pull/496
counted_on_each: whole weights pass for split ones, and are counted on each rank in the norm.
    https://github.com/ROCm/TransformerEngine/pull/715"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, BATCH, LENGTH, LAYERS = 23, 14, 6, 2, 8, 2
PLAIN, ROPE, VALUE, QUERY_RANK, KEY_RANK = 5, 4, 7, 10, 11


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


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def rotary(x):
    """x: batch, length, heads, ROPE"""
    angles = torch.arange(x.size(1)).view(-1, 1, 1) / torch.tensor([10.0 ** i for i in range(ROPE // 2)])
    a, b = x.chunk(2, -1)
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)


class Attention(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.tp, self.bug = tp, bug
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.heads = HEADS // size
        self.q_down = nn.Linear(WIDTH, QUERY_RANK, bias=False)
        self.q_norm = nn.LayerNorm(QUERY_RANK)
        self.q_up = nn.Parameter((torch.randn(HEADS * (PLAIN + ROPE), QUERY_RANK) / 3).chunk(size)[rank].clone())
        self.kv_down = nn.Linear(WIDTH, KEY_RANK + ROPE, bias=False)
        self.kv_norm = nn.LayerNorm(KEY_RANK)
        self.kv_up = nn.Parameter((torch.randn(HEADS * (PLAIN + VALUE), KEY_RANK) / 3).chunk(size)[rank].clone())
        self.out = nn.Parameter((torch.randn(WIDTH, HEADS * VALUE) / 5).chunk(size, 1)[rank].clone())
        self.q_up.over_tp = self.kv_up.over_tp = self.out.over_tp = True

    def shared(self, x):
        """Whole here, used by the heads of this rank only from here on."""
        return Copy.apply(x, self.tp) if self.tp else x

    def forward(self, x):
        batch, length, _ = x.shape
        q = F.linear(self.shared(self.q_norm(self.q_down(x))), self.q_up)
        q = q.view(batch, length, self.heads, PLAIN + ROPE)
        latent, key = self.kv_down(x).split((KEY_RANK, ROPE), -1)
        kv = F.linear(self.shared(self.kv_norm(latent)), self.kv_up)
        k, v = kv.view(batch, length, self.heads, PLAIN + VALUE).split((PLAIN, VALUE), -1)
        key = rotary(key.unsqueeze(2))
        if self.bug != "rope_key":
            key = self.shared(key)  # place rope_key
        k = torch.cat((k, key.expand(-1, -1, self.heads, -1)), -1)  # place rope_key
        q = torch.cat((q[..., :PLAIN], rotary(q[..., PLAIN:])), -1)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / (PLAIN + ROPE) ** 0.5
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
        y = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).reshape(batch, length, -1)
        y = F.linear(y, self.out)
        return Reduce.apply(y, self.tp) if self.tp else y


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.layers = nn.ModuleList(Attention(tp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return self.head(x)


def clip(model, most, tp, bug):
    whole, split = torch.zeros(()), torch.zeros(())
    for name, p in model.named_parameters():
        marked = getattr(p, "over_tp", False) or (bug == "counted_on_each" and "_down" in name)  # place counted_on_each
        if marked:
            split = split + p.grad.pow(2).sum()  # place counted_on_each
        else:
            whole = whole + p.grad.pow(2).sum()
    if tp:
        dist.all_reduce(split, group=tp)
    factor = (most / ((whole + split).sqrt() + 1e-6)).clamp(max=1.0)
    for p in model.parameters():
        p.grad.mul_(factor)


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
    torch.manual_seed(41)
    model = Model(tp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(7)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        if tp and args.bug == "reduced_again":
            for name, p in model.named_parameters():
                if "_down" in name:
                    dist.all_reduce(p.grad, group=tp)  # place reduced_again
        clip(model, 0.5, tp, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
