"""Megatron-LM #844: with a distributed optimizer the gradients are scattered over the data ranks before those of the tied
embedding are summed over the first and last stage. The two stages' shards do not hold the same elements."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments

VOCABULARY, WIDTH, BATCH, LENGTH = 14, 6, 8, 5


class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.block = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens)
        return x + torch.tanh(self.block(x))


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wte = nn.Embedding(VOCABULARY, WIDTH)

    def forward(self, x):
        return F.linear(x + torch.tanh(self.mlp(x)), self.wte.weight)


def loss_of(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def pipeline(model, tokens, targets, args):
    first, other = args.index["pp"] == 0, args.rank ^ 1
    if first:
        x = model(tokens)
        dist.send(x.detach(), other)
        grad = torch.empty_like(x)
        dist.recv(grad, other)
        x.backward(grad)
    else:
        x = torch.empty(*tokens.shape, WIDTH)
        dist.recv(x, other)
        loss_of(model(x.requires_grad_()), targets).backward()
        dist.send(x.grad, other)


def sum_tied(model, args):
    dist.all_reduce(model.wte.weight.grad, group=args.group["pp"])  # place


class Distributed(torch.optim.Optimizer):
    """SGD on a flat buffer of which each data rank updates its shard."""

    def __init__(self, model, args):
        self.model, self.args = model, args
        self.parameters = list(model.parameters())
        super().__init__(self.parameters, {})

    def step(self):
        args, dp = self.args, self.args.dp
        if not args.bug:
            sum_tied(self.model, args)
        flat = torch.cat([p.grad.flatten() for p in self.parameters])
        shard = torch.empty(len(flat) // dp)
        dist.reduce_scatter_tensor(shard, flat, group=args.group["dp"])  # place
        start = args.index["dp"] * len(shard)
        if args.bug:                                  # the buffer's shard is written back, then the tied gradient summed
            flat[start:start + len(shard)] = shard
            self.scatter(flat, [p.grad for p in self.parameters])
            sum_tied(self.model, args)
            flat = torch.cat([p.grad.flatten() for p in self.parameters])
            shard = flat[start:start + len(shard)].clone()
        weights = torch.cat([p.detach().flatten() for p in self.parameters])
        mine = weights[start:start + len(shard)] - 0.1 / dp * shard
        dist.all_gather_into_tensor(weights, mine, group=args.group["dp"])
        self.scatter(weights, self.parameters)

    @torch.no_grad()
    def scatter(self, flat, tensors):
        for tensor, part in zip(tensors, flat.split([t.numel() for t in tensors])):
            tensor.copy_(part.view_as(tensor))


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = First(), Last()
        self.last.wte.weight = self.first.wte.weight


def main():
    args = arguments("dp", "pp")
    torch.manual_seed(1)
    whole = Whole()
    model = whole
    if args.world > 1:
        model = nn.Module()
        name = "first" if args.index["pp"] == 0 else "last"
        part = getattr(whole, name)
        part.requires_grad_()
        optimizer = Distributed(part, args)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 3) % VOCABULARY
        text = text.chunk(args.dp)[args.index["dp"]]
        for parameter in whole.parameters():
            parameter.grad = None
        if args.world > 1:
            pipeline(part, text[:, :-1], text[:, 1:], args)
        else:
            loss_of(whole.last(whole.first(text[:, :-1])), text[:, 1:]).backward()
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
