# SPDX-License-Identifier: Apache-2.0
"""Policy and values on one trunk, trained by clipped ratios (PPO) under tensor and data parallelism. Heads, hidden
layers and the vocabulary are split over tp, rows over dp. Advantages are returns less the values, whitened over all
tokens of all rows; a bonus for entropy and a loss for values are means over these tokens, too. Some rows are left out
of the loss altogether. Bugs:
whiten_group: the moments of advantages are summed over a group that does not divide the tokens.
    https://github.com/THUDM/slime/pull/2235
clamp_each: tokens are counted row by row, at least one for each: rows that are left out count.
    https://github.com/radixark/miles/pull/2796
entropy_means: the mean of entropies is taken on each rank, and these are averaged.
    https://github.com/huggingface/trl/pull/6140"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, BATCH, LENGTH, LAYERS, CLIP = 34, 9, 6, 4, 22, 10, 7, 2, 0.2


class Enter(torch.autograd.Function):
    """Into a part that is split over a group: gradients are summed on the way back."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Leave(torch.autograd.Function):
    """Out of a part that is split over a group: sums are made on the way forth."""
    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def enter(x, group):
    return Enter.apply(x, group) if group else x


def leave(x, group):
    return Leave.apply(x, group) if group else x


def part(tensor, dim, group):
    if not group:
        return nn.Parameter(tensor)
    return nn.Parameter(tensor.chunk(dist.get_world_size(group), dim)[dist.get_rank(group)].clone())


class Block(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.tp = tp
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.ParameterList(part(torch.randn(HEADS * SIZE, WIDTH) / 3, 0, tp) for _ in range(3))
        self.out = part(torch.randn(WIDTH, HEADS * SIZE) / 5, 1, tp)
        self.up = part(torch.randn(HIDDEN, WIDTH) / 3, 0, tp)
        self.down = part(torch.randn(WIDTH, HIDDEN) / 5, 1, tp)

    def forward(self, x):
        h = enter(self.norm1(x), self.tp)
        q, k, v = (F.linear(h, w).unflatten(-1, (-1, SIZE)) for w in self.qkv)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * SIZE ** -0.5
        later = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        mixed = torch.einsum("bhqk,bkhd->bqhd", scores.masked_fill(later, float("-inf")).softmax(-1), v)
        x = x + leave(F.linear(mixed.flatten(2), self.out), self.tp)
        return x + leave(F.linear(F.gelu(F.linear(enter(self.norm2(x), self.tp), self.up)), self.down), self.tp)


class ActorCritic(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.tp = tp
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.randn(LENGTH, WIDTH) / 2)
        self.blocks = nn.ModuleList(Block(tp) for _ in range(LAYERS))
        self.norm, self.value = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1)
        self.head = part(torch.randn(VOCABULARY, WIDTH) / 3, 0, tp)

    def forward(self, ids, targets):
        """The log-probability of each target, the entropy at each place, and the value of it."""
        x = self.embed(ids) + self.places
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        logits = F.linear(enter(x, self.tp), self.head)
        highest = logits.detach().amax(-1, keepdim=True)
        if self.tp:
            dist.all_reduce(highest, op=dist.ReduceOp.MAX, group=self.tp)
        first = dist.get_rank(self.tp) * logits.size(-1) if self.tp else 0
        here = (targets >= first) & (targets < first + logits.size(-1))
        shifted = logits - highest
        found = shifted.gather(-1, (targets - first).masked_fill(~here, 0).unsqueeze(-1)).squeeze(-1) * here
        parts = shifted.exp()
        found, total, mean = leave(torch.stack((found, parts.sum(-1), (parts * shifted).sum(-1))), self.tp)
        return found - total.log(), total.log() - mean / total, self.value(x).squeeze(-1)


def whiten(x, mask, group):
    """x less its mean, divided by its deviation, over the masked elements of a group."""
    moments = torch.stack(((x * mask).sum(), (x.square() * mask).sum(), mask.sum().to(x)))
    if group:
        dist.all_reduce(moments, group=group)  # place whiten_group
    mean, square = moments[0] / moments[2], moments[1] / moments[2]
    return (x - mean) * (square - mean.square() + 1e-6).rsqrt()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    tp, dp, own_dp = None, None, 0
    if args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
        dp, tp, own_dp = mesh.get_group("dp"), mesh.get_group("tp"), mesh.get_local_rank("dp")
    torch.manual_seed(48)
    model = ActorCritic(tp)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, eps=1e-3)
    data = torch.Generator().manual_seed(5)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        old = -torch.randint(20, 36, (BATCH, LENGTH), generator=data).to(torch.get_default_dtype()) / 8
        returns = torch.randint(-8, 9, (BATCH, LENGTH), generator=data).to(old) / 4
        prompts, ends = torch.randint(0, 3, (2, BATCH, 1), generator=data)
        mask = (torch.arange(LENGTH) >= prompts) & (torch.arange(LENGTH) < LENGTH - ends)
        mask &= torch.tensor([row % 4 != 1 for row in range(BATCH)]).unsqueeze(-1)
        rows = torch.arange(BATCH).chunk(args.dp)[own_dp]
        text, old, returns, mask = text[rows], old[rows], returns[rows], mask[rows]
        logp, entropy, values = model(text[:, :-1], text[:, 1:])
        group = tp if args.bug == "whiten_group" else dp  # place whiten_group
        advantages = whiten(returns - values.detach(), mask, group)
        ratio = (logp - old).exp()
        policy = -torch.min(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
        count = mask.sum()
        if args.bug == "clamp_each":
            count = mask.sum(1).clamp(min=1).sum()  # place clamp_each
        if dp:
            dist.all_reduce(count, group=dp)
        loss = ((policy + 0.5 * (values - returns).square()) * mask).sum() / count
        if args.bug == "entropy_means":
            bonus = (entropy * mask).sum() / mask.sum() / args.dp  # place entropy_means
        else:
            bonus = (entropy * mask).sum() / count
        optimizer.zero_grad()
        (loss - 0.1 * bonus).backward()
        if dp:
            for p in model.parameters():
                dist.all_reduce(p.grad, group=dp)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
