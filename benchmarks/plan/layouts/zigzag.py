"""Context parallelism by a ring: each rank has an early and a late piece of the sequence; keys and values go round, and in
the backward once more with their gradients. Bugs: stale (diffusers #14265: the backward reads the rank's own keys and
values each time), own_positions (the mask is made of positions within the rank), merge (the output so far is not scaled to
the new maximum), home (gradients of keys and values are a hop short), scaled (Megatron-LM #906)."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from ranks import Job, text

VOCABULARY, WIDTH, HEADS, SIZE, BATCH, LENGTH, LAYERS = 25, 11, 3, 5, 2, 12, 2


def pass_on(job, *tensors):
    """Each tensor to the next rank of the ring, that of the rank before in its place."""
    ranks, index = job.size["cp"], job.index["cp"]
    taken = [torch.empty_like(t) for t in tensors]
    work = [dist.P2POp(dist.isend, t.contiguous(), (index + 1) % ranks) for t in tensors]
    work += [dist.P2POp(dist.irecv, t, (index - 1) % ranks) for t in taken]
    for request in dist.batch_isend_irecv(work):
        request.wait()
    return taken


class RingAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, job):
        ctx.job, ranks, scale = job, job.size["cp"], q.shape[-1] ** -0.5
        out = torch.zeros_like(q)
        most = q.new_full(q.shape[:-1], float("-inf"))
        total = torch.zeros_like(most)
        kv, mine = (k, v), positions_of(job, job.index["cp"])
        for hop in range(ranks):
            theirs = positions_of(job, (job.index["cp"] - hop) % ranks)
            scores = (q @ kv[0].transpose(-1, -2)) * scale
            scores = scores.masked_fill(theirs > mine[:, None], float("-inf"))
            new = torch.maximum(most, scores.amax(-1))
            weights = (scores - new[..., None]).exp()
            old = (most - new).exp()
            total = total * old + weights.sum(-1)
            if job.bug != "merge":
                out = out * old[..., None]
            out = out + weights @ kv[1]  # place merge
            most = new
            if hop + 1 < ranks:
                kv = pass_on(job, *kv)
        out = out / total[..., None]
        ctx.save_for_backward(q, k, v, out, most + total.log())
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse = ctx.saved_tensors
        job, ranks, scale = ctx.job, ctx.job.size["cp"], q.shape[-1] ** -0.5
        mine, dq = positions_of(job, job.index["cp"]), torch.zeros_like(q)
        dk, dv, kv = torch.zeros_like(k), torch.zeros_like(v), (k, v)
        inner = (grad * out).sum(-1, keepdim=True)
        for hop in range(ranks):
            theirs = positions_of(job, (job.index["cp"] - hop) % ranks)
            keys, values = (k, v) if job.bug == "stale" else kv  # place stale
            scores = (q @ keys.transpose(-1, -2)) * scale  # place stale
            weights = (scores - lse[..., None]).exp().masked_fill(theirs > mine[:, None], 0.0)
            dv = dv + weights.transpose(-1, -2) @ grad
            ds = weights * (grad @ values.transpose(-1, -2) - inner) * scale
            dq = dq + ds @ keys
            dk = dk + ds.transpose(-1, -2) @ q
            if ranks > 1 and not (job.bug == "home" and hop == ranks - 1):
                *kv, dk, dv = pass_on(job, *kv, dk, dv)  # place home
        return dq, dk, dv, None  # place home


def positions_of(job, rank):
    """Of the tokens of a rank."""
    ranks = job.size["cp"]
    if job.bug == "own_positions":
        return torch.arange(LENGTH // ranks)  # place own_positions
    pieces = torch.arange(LENGTH).chunk(2 * ranks)
    return torch.cat((pieces[rank], pieces[2 * ranks - 1 - rank])) if ranks > 1 else torch.arange(LENGTH)


class Block(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job = job
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * HEADS * SIZE), nn.Linear(HEADS * SIZE, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 17), nn.GELU(), nn.Linear(17, WIDTH))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (HEADS, SIZE)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        if self.job.parallel:
            out = RingAttention.apply(q.contiguous(), k.contiguous(), v.contiguous(), self.job)
        else:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(out.transpose(1, 2).flatten(2))
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block(job) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens, positions):
        x = self.embed(tokens) + self.places(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main():
    job = Job("cp")
    torch.manual_seed(1)
    model = Model(job)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    bug, job.bug = job.bug, ""
    mine = positions_of(job, job.index["cp"])
    job.bug = bug
    for step in range(3):
        tokens, labels = text(step, BATCH, LENGTH, VOCABULARY)
        loss = F.cross_entropy(model(tokens[:, mine], mine).flatten(0, 1), labels[:, mine].flatten())
        if job.bug == "scaled":
            loss = loss * job.size["cp"]  # place scaled
        optimizer.zero_grad()
        loss.backward()
        if job.parallel:
            for p in model.parameters():
                dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
                p.grad /= job.size["cp"]  # place scaled
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
