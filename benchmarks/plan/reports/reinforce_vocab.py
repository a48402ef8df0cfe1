# SPDX-License-Identifier: Apache-2.0
"""Policy gradients with a vocabulary split over tp, beside data parallelism: log-probabilities of the sampled tokens
times their advantages, over the tokens of the answers of all ranks. Gradients are averaged over dp. Bugs:
owner_only: the rank that owns a token computes its log-probability, the others add 0, and send nothing to their
    logits.
    https://github.com/modelscope/ms-swift/pull/9947
own_tokens: each rank divides by the tokens of its own answers.
    https://github.com/PrimeIntellect-ai/prime-rl/pull/2562
tokens_of_tp: tokens are counted over all ranks, those of tp again.
    https://github.com/huggingface/transformers/issues/39648"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS = 26, 11, 20, 6, 9, 2


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


class Block(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.tp = tp
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.norm = nn.LayerNorm(WIDTH)
        self.gate = nn.Parameter((torch.randn(HIDDEN, WIDTH) / 3).chunk(size)[rank].clone())
        self.up = nn.Parameter((torch.randn(HIDDEN, WIDTH) / 3).chunk(size)[rank].clone())
        self.down = nn.Parameter((torch.randn(WIDTH, HIDDEN) / 4).chunk(size, 1)[rank].clone())

    def forward(self, x):
        h = self.norm(x)
        if self.tp:
            h = Copy.apply(h, self.tp)
        h = F.linear(F.silu(F.linear(h, self.gate)) * F.linear(h, self.up), self.down)
        return x + (Reduce.apply(h, self.tp) if self.tp else h)


class Policy(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.tp = tp
        rank, size = (dist.get_rank(tp), dist.get_world_size(tp)) if tp else (0, 1)
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(tp) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Parameter((torch.randn(VOCABULARY, WIDTH) / 3).chunk(size)[rank].clone())

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return F.linear(Copy.apply(x, self.tp) if self.tp else x, self.head)


def log_probabilities(logits, tokens, tp, bug):
    if not tp:
        return logits.log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    first, rows = dist.get_rank(tp) * logits.size(-1), logits.size(-1)
    highest = logits.detach().max(-1).values
    dist.all_reduce(highest, op=dist.ReduceOp.MAX, group=tp)
    logits = logits - highest.unsqueeze(-1)
    total = Reduce.apply(logits.exp().sum(-1), tp).log()
    own = (tokens >= first) & (tokens < first + rows)
    picked = logits.gather(-1, (tokens - first).masked_fill(~own, 0).unsqueeze(-1)).squeeze(-1)
    if bug == "owner_only":
        result = (picked - total).masked_fill(~own, 0)  # place owner_only
        return Reduce.apply(result, tp)  # place owner_only
    return Reduce.apply(picked.masked_fill(~own, 0), tp) - total  # place owner_only


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    dp = tp = None
    rank = 0
    if args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
        dp, tp, rank = mesh.get_group("dp"), mesh.get_group("tp"), mesh.get_local_rank("dp")
    torch.manual_seed(9)
    policy = Policy(tp)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(28)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        starts = torch.randint(1, LENGTH - 1, (BATCH,), generator=data)
        advantages = torch.randn(BATCH, generator=data)
        text, starts, advantages = (t.chunk(args.dp)[rank] for t in (text, starts, advantages))
        answer = torch.arange(LENGTH) >= starts.unsqueeze(-1)
        tokens = answer.sum()
        if dp and args.bug != "own_tokens":
            tokens_group = dist.group.WORLD if args.bug == "tokens_of_tp" else dp  # place tokens_of_tp
            dist.all_reduce(tokens, group=tokens_group)  # place tokens_of_tp own_tokens
        optimizer.zero_grad()
        logps = log_probabilities(policy(text[:, :-1]), text[:, 1:], tp, args.bug)
        scale = 1 if args.bug == "own_tokens" else args.dp
        loss = -(logps * answer * advantages.unsqueeze(-1)).sum() * scale / tokens  # place own_tokens
        loss.backward()
        if dp:
            for p in policy.parameters():
                dist.all_reduce(p.grad, group=dp)
                p.grad /= args.dp
        optimizer.step()
    return policy


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
