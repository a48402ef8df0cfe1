# SPDX-License-Identifier: Apache-2.0
"""Latent attention and an MLP over tensor parallelism, with tokens split between them: norms, the projection down and
the biases see the tokens of their rank; latents and the rotary key are gathered, and what comes back is summed and
scattered. Bugs:
down_unmarked: gradients of the projection down, of which each rank has those of its tokens, are not summed.
    https://github.com/PaddlePaddle/PaddleFleet/pull/2008
rope_twice: the rotary key is gathered, and its gradient is summed by the gather and by a copy after it.
    https://github.com/NVIDIA/Megatron-LM/pull/6839
norm_mean: gradients of the norms are averaged over the ranks that have their tokens, not summed.
    https://github.com/EleutherAI/gpt-neox/pull/1259"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, HIDDEN, BATCH, LENGTH, LAYERS = 19, 15, 8, 26, 3, 10, 2
PLAIN, ROPE, VALUE, KEY_RANK = 7, 6, 9, 11


def joined(x, group):
    pieces = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
    dist.all_gather(pieces, x.contiguous(), group=group)
    return torch.cat(pieces, 1)


def summed(x, group):
    mine = torch.empty_like(x.chunk(dist.get_world_size(group), 1)[0], memory_format=torch.contiguous_format)
    pieces = [piece.contiguous() for piece in x.chunk(dist.get_world_size(group), 1)]
    dist.reduce_scatter(mine, pieces, group=group)
    return mine


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return joined(x, group)

    @staticmethod
    def backward(ctx, grad):
        return summed(grad, ctx.group), None


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return summed(x, group)

    @staticmethod
    def backward(ctx, grad):
        return joined(grad, ctx.group), None


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


def rotary(x):
    angles = torch.arange(x.size(1)).view(-1, 1, 1) / torch.tensor([10.0 ** i for i in range(ROPE // 2)])
    a, b = x.chunk(2, -1)
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)


class Split(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.tp = tp
        self.rank, self.size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)

    def weight(self, out, into, dim):
        return nn.Parameter((torch.randn(out, into) / into ** 0.5).chunk(self.size, dim)[self.rank].clone())

    def gather(self, x):
        return Gather.apply(x, self.tp) if self.tp else x

    def scatter(self, x):
        return Scatter.apply(x, self.tp) if self.tp else x


class Attention(Split):
    def __init__(self, tp, bug):
        super().__init__(tp)
        self.bug, self.heads = bug, HEADS // self.size
        self.q = self.weight(HEADS * (PLAIN + ROPE), WIDTH, 0)
        self.kv_down = nn.Linear(WIDTH, KEY_RANK + ROPE, bias=False)
        self.kv_norm = nn.LayerNorm(KEY_RANK)
        self.kv_up = self.weight(HEADS * (PLAIN + VALUE), KEY_RANK, 0)
        self.out = self.weight(WIDTH, HEADS * VALUE, 1)

    def forward(self, x):
        latent, key = self.kv_down(x).split((KEY_RANK, ROPE), -1)
        latent, key = self.gather(self.kv_norm(latent)), self.gather(key)
        if self.tp and self.bug == "rope_twice":
            key = Copy.apply(key, self.tp)  # place rope_twice
        x = self.gather(x)
        batch, length, _ = x.shape
        q = F.linear(x, self.q).view(batch, length, self.heads, PLAIN + ROPE)
        k, v = F.linear(latent, self.kv_up).view(batch, length, self.heads, PLAIN + VALUE).split((PLAIN, VALUE), -1)
        k = torch.cat((k, rotary(key.unsqueeze(2)).expand(-1, -1, self.heads, -1)), -1)
        q = torch.cat((q[..., :PLAIN], rotary(q[..., PLAIN:])), -1)
        y = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=True)
        return self.scatter(F.linear(y.transpose(1, 2).reshape(batch, length, -1), self.out))


class MLP(Split):
    def __init__(self, tp):
        super().__init__(tp)
        self.up, self.down = self.weight(HIDDEN, WIDTH, 0), self.weight(WIDTH, HIDDEN, 1)
        self.bias = nn.Parameter(torch.randn(WIDTH) / 3)

    def forward(self, x):
        return self.scatter(F.linear(F.gelu(F.linear(self.gather(x), self.up)), self.down)) + self.bias


class Block(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention(tp, bug)
        self.norm2, self.mlp = nn.LayerNorm(WIDTH), MLP(tp)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, tp, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(tp, bug) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


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
    torch.manual_seed(17)
    model = Model(tp, args.bug)
    # whole parameters see the tokens of their rank
    names = ("norm", "bias", "embed", "head", "kv_down")
    if args.bug == "down_unmarked":
        names = ("norm", "bias", "embed", "head")  # place down_unmarked
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(23)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        ids, labels = text[:, :-1], text[:, 1:]
        if tp:
            ids, labels = (t.chunk(args.tp, 1)[dist.get_rank(tp)] for t in (ids, labels))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten(), reduction="sum") / (BATCH * LENGTH)
        loss.backward()
        for name, p in model.named_parameters():
            if tp and any(part in name for part in names):  # place down_unmarked
                dist.all_reduce(p.grad, group=tp)  # place down_unmarked
                if args.bug == "norm_mean" and "norm" in name:
                    p.grad /= args.tp  # place norm_mean
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
