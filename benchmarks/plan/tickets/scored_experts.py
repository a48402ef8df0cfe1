# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts under expert parallelism: ranks have rows of the batch of their own, each has two of the six
experts. A token goes to its two best experts by an all-to-all, with a place for each token of each rank, and its score
goes with it: experts multiply what they make by it. A loss that balances the experts is put on the result by a
function that passes it on and brings the gradient of the loss in the backward. Bugs:
scores_detached: scores are sent by a plain collective, which autograd does not see: the router learns to balance only.
    https://github.com/NVIDIA-NeMo/Automodel/pull/2995
aux_discarded: what the function returns is dropped, so the balancing loss has no gradient.
    https://github.com/NVIDIA-NeMo/Automodel/pull/1412
experts_summed: gradients of experts, which have seen the tokens of all ranks, are not divided by their number.
    https://github.com/NVIDIA/Megatron-LM/pull/5956"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, EXPERTS, TOP, LAYERS, BATCH, LENGTH = 29, 9, 2, 7, 11, 6, 2, 2, 6, 8
COEFFICIENT = 0.25


class AllToAll(torch.autograd.Function):
    """Sends the i-th part of the first dimension to rank i."""
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        x = x.contiguous()
        got = torch.empty_like(x)
        dist.all_to_all_single(got, x, group=group)
        return got

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        got = torch.empty_like(grad)
        dist.all_to_all_single(got, grad, group=ctx.group)
        return got, None


class Balancing(torch.autograd.Function):
    """Passes x on; the backward begins that of the balancing loss, too."""
    @staticmethod
    def forward(ctx, x, loss):
        ctx.save_for_backward(loss)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        loss, = ctx.saved_tensors
        return grad, torch.ones_like(loss)


class Router(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group
        self.weight = nn.Parameter(torch.randn(EXPERTS, WIDTH) / 3)

    def forward(self, x):
        """For each token the scores of experts, zero where it does not go, where it goes, and the balancing loss."""
        probabilities = F.linear(x, self.weight).softmax(-1)
        best, experts = probabilities.topk(TOP, -1)
        goes = torch.zeros_like(probabilities).scatter(-1, experts, 1.0)
        counts, tokens = goes.sum(0), len(x)
        if self.group:
            dist.all_reduce(counts, group=self.group)
            tokens *= dist.get_world_size(self.group)
        loss = COEFFICIENT * EXPERTS * (counts / (TOP * tokens) * probabilities.mean(0)).sum()
        best = best / best.sum(-1, keepdim=True)
        return torch.zeros_like(probabilities).scatter(-1, experts, best), goes, loss


class Experts(nn.Module):
    def __init__(self, group, bug):
        super().__init__()
        self.group, self.bug = group, bug
        size, rank = (dist.get_world_size(group), dist.get_rank(group)) if group else (1, 0)
        self.router = Router(group)
        self.w1 = nn.Parameter((torch.randn(EXPERTS, WIDTH, HIDDEN) / 3).chunk(size)[rank].clone())
        self.w2 = nn.Parameter((torch.randn(EXPERTS, HIDDEN, WIDTH) / 3).chunk(size)[rank].clone())

    def sent(self, x):
        """Of each rank what it has for the experts of this one: experts x (ranks x tokens) x ..."""
        size = dist.get_world_size(self.group)
        got = AllToAll.apply(x, self.group).unflatten(0, (size, -1))
        return got.transpose(0, 1).flatten(1, 2)

    def returned(self, x):
        size = dist.get_world_size(self.group)
        back = x.unflatten(1, (size, -1)).transpose(0, 1).flatten(0, 1)
        return AllToAll.apply(back, self.group)

    def sent_scores(self, scores):
        if self.bug != "scores_detached":  # place scores_detached
            return self.sent(scores)
        scores = scores.contiguous()
        got = torch.empty_like(scores)
        dist.all_to_all_single(got, scores, group=self.group)  # place scores_detached
        return got.unflatten(0, (dist.get_world_size(self.group), -1)).transpose(0, 1).flatten(1, 2)

    def forward(self, x):
        scores, goes, loss = self.router(x)
        tokens, scores = goes.T.unsqueeze(-1) * x, scores.T
        if self.group:
            tokens, scores = self.sent(tokens), self.sent_scores(scores)
        made = F.silu(tokens @ self.w1) @ self.w2 * scores.unsqueeze(-1)
        if self.group:
            made = self.returned(made)
        made = made.sum(0)
        balanced = Balancing.apply(made, loss)
        return made if self.bug == "aux_discarded" else balanced  # place aux_discarded


class Block(nn.Module):
    def __init__(self, group, bug):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH, eps=1e-5), nn.RMSNorm(WIDTH, eps=1e-5)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * HEADS * SIZE), nn.Linear(HEADS * SIZE, WIDTH)
        self.experts = Experts(group, bug)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, SIZE)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.experts(self.norm2(x).flatten(0, 1)).view_as(x)


class Model(nn.Module):
    def __init__(self, group, bug):
        super().__init__()
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.randn(LENGTH, WIDTH) / 2)
        self.blocks = nn.ModuleList(Block(group, bug) for _ in range(LAYERS))
        self.norm, self.head = nn.RMSNorm(WIDTH, eps=1e-5), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def average_gradients(model, group, bug):
    """Each rank's loss is a mean over its rows. Experts have been given the gradients of all ranks."""
    size = dist.get_world_size(group)
    for name, p in model.named_parameters():
        expert = name.endswith((".w1", ".w2"))
        if not expert:
            dist.all_reduce(p.grad, group=group)
        if not (expert and bug == "experts_summed"):  # place experts_summed
            p.grad.div_(size)  # place experts_summed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ep", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    group, rank = None, 0
    if args.ep > 1:
        dist.init_process_group("gloo")
        group, rank = dist.new_group(list(range(args.ep))), dist.get_rank()
    torch.manual_seed(83)
    model = Model(group, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3)
    data = torch.Generator().manual_seed(38)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        text = text[torch.arange(BATCH).chunk(args.ep)[rank]]
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        if group:
            average_gradients(model, group, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
