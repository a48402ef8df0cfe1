"""Mixture of experts as GShard and DeepSpeed have it: ranks hold tokens of their own and some of the experts; slots of
equal size go to the experts and back by all-to-all. World is dp, and ep divides it: the mesh is (edp, ep). Bugs: doubled
(pytorch #160285, megablocks #86: gradients of experts are averaged over their copies only), detached_router (NeMo
Automodel #2995), own_experts (the norm of Automodel #3816, ColossalAI #2192), wrong_copies (fairseq #4220: gradients of
experts are summed over ep), combine (slots come back in another order)."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from ranks import Job, reduced, text

VOCABULARY, WIDTH, HIDDEN, EXPERTS, BATCH, LENGTH = 31, 9, 13, 4, 8, 3


class Exchange(torch.autograd.Function):
    """Slots [experts of all ranks, ...] to [ranks, ...] and back: equal parts of the first dimension are exchanged."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x.contiguous(), group=group)
        return out

    @staticmethod
    def backward(ctx, grad):
        return Exchange.apply(grad.contiguous(), ctx.group), None


class Experts(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job, self.own = job, EXPERTS // job.size["ep"]
        self.w1 = nn.Parameter(torch.randn(self.own, WIDTH, HIDDEN) * 0.3)
        self.w2 = nn.Parameter(torch.randn(self.own, HIDDEN, WIDTH) * 0.3)

    def forward(self, slots):
        """slots: [EXPERTS, slots, WIDTH]."""
        group, ranks = self.job.group["ep"], self.job.size["ep"]
        if group is not None:
            slots = Exchange.apply(slots, group)
            slots = slots.unflatten(0, (ranks, self.own)).transpose(0, 1).flatten(1, 2)
        out = F.silu(slots @ self.w1) @ self.w2
        if group is not None:
            out = out.unflatten(1, (ranks, -1))
            if self.job.bug == "combine":
                out = out.flip(1)  # place combine
            out = out.transpose(0, 1).flatten(0, 1)  # place combine
            out = Exchange.apply(out.contiguous(), group)  # place combine
        return out


class Mixture(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job = job
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = Experts(job)

    def forward(self, x, chosen):
        tokens = x.flatten(0, 1)
        weights = self.gate(tokens).softmax(-1)
        if self.job.bug == "detached_router":
            weights = weights.detach()  # place detached_router
        hot = F.one_hot(chosen.flatten(), EXPERTS)
        place = (hot.cumsum(0) * hot).sum(-1) - 1
        dispatch = hot[..., None] * F.one_hot(place, tokens.shape[0])[:, None]  # [token, expert, slot]
        dispatch = dispatch.to(x.dtype)
        slots = torch.einsum("tes,tw->esw", dispatch, tokens)
        out = self.experts(slots)
        combine = dispatch * weights[..., None]  # place detached_router
        return torch.einsum("tes,esw->tw", combine, out).view_as(x)  # place detached_router


class Model(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norm, self.mixture = nn.LayerNorm(WIDTH), Mixture(job)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(x + self.mixture(self.norm(x), tokens % EXPERTS))


def synchronise(model, job):
    """Means over all ranks. An expert has seen the tokens of all ranks of ep, so only its copies are left to sum."""
    ranks = job.size["edp"] * job.size["ep"]
    for name, p in model.named_parameters():
        if p.grad is None:
            continue
        if ".experts." not in name:
            dist.all_reduce(p.grad)
            p.grad /= ranks
        elif job.bug == "wrong_copies":
            dist.all_reduce(p.grad, group=job.group["ep"])  # place wrong_copies
            p.grad /= ranks
        else:
            dist.all_reduce(p.grad, group=job.group["edp"])  # place doubled wrong_copies
            p.grad /= job.size["edp"] if job.bug == "doubled" else ranks  # place doubled


def clip(model, job, most):
    named = [(name, p) for name, p in model.named_parameters() if p.grad is not None]
    dense = sum(p.grad.pow(2).sum() for name, p in named if ".experts." not in name)
    sparse = sum(p.grad.pow(2).sum() for name, p in named if ".experts." in name)
    if job.bug != "own_experts":
        sparse = reduced(sparse, job.group["ep"])
    norm = (dense + sparse).sqrt()  # place own_experts
    for _, p in named:
        p.grad.mul_(most / (norm + 1e-6))


def main():
    job = Job("edp", "ep")
    torch.manual_seed(1)
    model = Model(job)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    ranks = job.size["edp"] * job.size["ep"]
    rank = job.index["edp"] * job.size["ep"] + job.index["ep"]
    for step in range(3):
        tokens, labels = (t.chunk(ranks)[rank] for t in text(step, BATCH, LENGTH, VOCABULARY))
        optimizer.zero_grad()
        F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten()).backward()
        if job.parallel:
            synchronise(model, job)
        clip(model, job, 0.5)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
