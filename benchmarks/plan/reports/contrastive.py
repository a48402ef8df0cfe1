# SPDX-License-Identifier: Apache-2.0
"""Contrastive training of two towers on pairs, over data parallelism: each rank compares its own features with those
of all ranks, and gradients are averaged. Bugs:
own_grad: of the gradients of the gathered features each rank keeps those that it has itself, they are not summed.
    https://github.com/lightly-ai/lightly/pull/1531
full_loss: each rank takes the whole loss of the gathered features, of which only its own have a history; averaged
    gradients are then 1/dp of those of one device (and right for the scale).
    https://github.com/JohnGiorgi/DeCLUTR/pull/212 and https://github.com/lightly-ai/lightly/issues/1977
own_negatives: the features of one side are not gathered: pairs are told apart from those of the rank only.
    https://github.com/vturrisi/solo-learn/issues/229"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

PIXELS, WORDS, WIDTH, FEATURES, BATCH, LENGTH = 18, 29, 16, 10, 12, 5


def collect(x):
    pieces = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(pieces, x.contiguous())
    return pieces


class Gather(torch.autograd.Function):
    """The rows of all ranks; each rank gets back what all say of its rows."""
    @staticmethod
    def forward(ctx, x):
        return torch.cat(collect(x))

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad.chunk(dist.get_world_size())[dist.get_rank()].contiguous()


class GatherOwn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.cat(collect(x))

    @staticmethod
    def backward(ctx, grad):
        return grad.chunk(dist.get_world_size())[dist.get_rank()].contiguous()  # place own_grad


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(PIXELS, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, FEATURES))
        self.words = nn.Embedding(WORDS, WIDTH)
        self.text = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, FEATURES))
        self.scale = nn.Parameter(torch.tensor(0.7))

    def forward(self, pictures, texts):
        x, y = self.image(pictures), self.text(self.words(texts).mean(1))
        x = x * (x.pow(2).sum(-1, keepdim=True) + 1e-6).rsqrt()
        y = y * (y.pow(2).sum(-1, keepdim=True) + 1e-6).rsqrt()
        return x, y, self.scale.exp()


def contrast(x, y, all_x, all_y, scale, first):
    labels = torch.arange(first, first + x.size(0))
    rows = F.cross_entropy(scale * x @ all_y.T, labels)
    columns = F.cross_entropy(scale * y @ all_x.T, labels)
    return (rows + columns) / 2


def loss_of(x, y, scale, dp, bug):
    if not dp:
        return contrast(x, y, x, y, scale, 0)
    first = dist.get_rank() * x.size(0)
    if bug == "full_loss":
        sides = []
        for own in (x, y):
            pieces = collect(own.detach())  # place full_loss
            pieces[dist.get_rank()] = own
            sides.append(torch.cat(pieces))
        return contrast(*sides, *sides, scale, 0)  # place full_loss
    if bug == "own_grad":
        return contrast(x, y, GatherOwn.apply(x), GatherOwn.apply(y), scale, first)  # place own_grad
    if bug == "own_negatives":
        labels = torch.arange(x.size(0))
        rows = F.cross_entropy(scale * x @ y.T, labels)  # place own_negatives
        columns = F.cross_entropy(scale * y @ Gather.apply(x).T, labels + first)
        return (rows + columns) / 2
    return contrast(x, y, Gather.apply(x), Gather.apply(y), scale, first)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    dp, rank = args.dp > 1, 0
    if dp:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(29)
    model = Towers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(3)
    for _ in range(args.steps):
        pictures = torch.randn(BATCH, PIXELS, generator=data).chunk(args.dp)[rank]
        texts = torch.randint(WORDS, (BATCH, LENGTH), generator=data).chunk(args.dp)[rank]
        optimizer.zero_grad()
        loss_of(*model(pictures, texts), dp, args.bug).backward()
        if dp:
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p.grad /= args.dp
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
