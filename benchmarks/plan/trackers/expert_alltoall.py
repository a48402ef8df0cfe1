# SPDX-License-Identifier: Apache-2.0
"""Mixture of experts with expert parallelism: dispatch by one-hot masks (room for all tokens), all_to_all to the
experts and back, two experts a token, a load-balancing loss whose gradient is attached to the router's probabilities,
clipping by the norm of all gradients. The ranks of the experts are also those of the data. Bugs: aux_lost (NeMo
Automodel #1412: the return value of the function that attaches the loss is dropped), mean_norm (DeepSpeed #8475: norms
of ranks with different experts are averaged), expert_sum (PyTorch #160285, Megatron-LM #5956, torchtitan #1551:
gradients of experts are sums over the tokens of all ranks already; they are not divided as the others are)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HIDDEN, EXPERTS, TOP, BATCH, LENGTH = 29, 8, 11, 6, 2, 4, 5


class AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        out = torch.empty_like(x, memory_format=torch.contiguous_format)
        dist.all_to_all_single(out, x.contiguous(), group=group)
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad, memory_format=torch.contiguous_format)
        dist.all_to_all_single(out, grad.contiguous(), group=ctx.group)
        return out, None


class Attach(torch.autograd.Function):
    """The first argument; in the backward the second, a loss, has the gradient 1."""
    @staticmethod
    def forward(ctx, x, loss):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad, torch.ones((), dtype=grad.dtype)


class Experts(nn.Module):
    def __init__(self, ep):
        super().__init__()
        rank, size = (dist.get_rank(ep), dist.get_world_size(ep)) if ep else (0, 1)
        self.up = nn.Parameter((torch.randn(EXPERTS, WIDTH, HIDDEN) / 3).chunk(size)[rank].clone())
        self.down = nn.Parameter((torch.randn(EXPERTS, HIDDEN, WIDTH) / 3).chunk(size)[rank].clone())

    def forward(self, x):
        return torch.bmm(F.gelu(torch.bmm(x, self.up)), self.down)


class Mixture(nn.Module):
    def __init__(self, ep, bug):
        super().__init__()
        self.ep, self.bug = ep, bug
        self.router, self.experts = nn.Linear(WIDTH, EXPERTS, bias=False), Experts(ep)

    def forward(self, x):
        shape, x = x.shape, x.flatten(0, 1)
        size = dist.get_world_size(self.ep) if self.ep else 1
        probabilities = self.router(x).softmax(-1)
        chosen = probabilities.topk(TOP, -1).indices
        mask = F.one_hot(chosen, EXPERTS).sum(1).to(x.dtype)
        counts = mask.sum(0).detach()
        if self.ep:
            dist.all_reduce(counts, group=self.ep)
        tokens = x.size(0) * size
        aux = 0.05 * EXPERTS * (counts / (tokens * TOP) * probabilities.mean(0)).sum()
        if self.bug == "aux_lost":
            Attach.apply(probabilities, aux)  # place aux_lost
        else:
            probabilities = Attach.apply(probabilities, aux)
        weights = probabilities * mask  # place aux_lost
        sent = torch.einsum("te,td->etd", mask, x)
        if self.ep:
            there = AllToAll.apply(sent, self.ep)
            there = there.unflatten(0, (size, EXPERTS // size)).transpose(0, 1).flatten(1, 2)
            back = self.experts(there).unflatten(1, (size, -1)).transpose(0, 1).flatten(0, 1)
            back = AllToAll.apply(back, self.ep)
        else:
            back = self.experts(sent)
        return torch.einsum("te,etd->td", weights, back).unflatten(0, shape[:2])


class Model(nn.Module):
    def __init__(self, ep, bug):
        super().__init__()
        self.embed, self.norm = nn.Embedding(VOCABULARY, WIDTH), nn.LayerNorm(WIDTH)
        self.mixture, self.last = Mixture(ep, bug), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        return self.head(self.last(x + self.mixture(self.norm(x))))


def clip(model, most, ep, bug):
    experts = [p.grad for p in model.mixture.experts.parameters()]
    rest = [p.grad for n, p in model.named_parameters() if ".experts." not in n]
    own = sum(g.pow(2).sum() for g in experts)
    if ep and bug == "mean_norm":
        norm = (own + sum(g.pow(2).sum() for g in rest)).sqrt() / dist.get_world_size(ep)  # place mean_norm
        dist.all_reduce(norm, group=ep)  # place mean_norm
    else:
        if ep:
            dist.all_reduce(own, group=ep)
        norm = (own + sum(g.pow(2).sum() for g in rest)).sqrt()
    factor = (most / (norm + 1e-6)).clamp(max=1.0)
    for g in experts + rest:
        g.mul_(factor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ep", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    ep, rank = None, 0
    if args.ep > 1:
        dist.init_process_group("gloo")
        ep, rank = dist.group.WORLD, dist.get_rank()
    torch.manual_seed(91)
    model = Model(ep, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(37)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data).chunk(args.ep)[rank]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        if ep:
            for name, p in model.named_parameters():
                if ".experts." in name:
                    if args.bug == "expert_sum":  # place expert_sum
                        continue  # place expert_sum
                else:
                    dist.all_reduce(p.grad, group=ep)
                p.grad /= args.ep  # place expert_sum
        clip(model, 0.5, ep, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
