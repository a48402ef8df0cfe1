# SPDX-License-Identifier: Apache-2.0
"""Striped ring attention (rank r has tokens r, r + ranks, ...), forward and backward by hand: keys and values go round,
the outputs are merged by their logsumexp, gradients of keys and values travel with them. Bugs: stale_keys (diffusers
#14265: the backward of each round uses the keys and values of the rank itself), late_gradients (the last hop in the
backward of ring-flash-attention, left out: gradients of keys and values end at a neighbour), rank_mean (Megatron-LM
#673, loss scaling with context parallelism: gradients of a loss that is divided by all tokens are averaged over the
ranks)."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, SIZE, BATCH, LENGTH, LAYERS = 19, 10, 4, 6, 2, 15, 2


def shift(tensors, group):
    """To the next rank, from the one before."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    tensors = [t.contiguous() for t in tensors]
    received = [torch.empty_like(t) for t in tensors]
    ops = []
    for t, r in zip(tensors, received):
        ops.append(dist.P2POp(dist.isend, t, (rank + 1) % size, group))
        ops.append(dist.P2POp(dist.irecv, r, (rank - 1) % size, group))
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return received


def scores_of(q, k):
    scores = q @ k.transpose(-1, -2) * SIZE ** -0.5
    later = torch.ones(q.size(2), k.size(2)).triu(1).bool()
    return scores.masked_fill(later, float("-inf"))


def attend(q, k, v):
    scores = scores_of(q, k)
    lse = torch.logsumexp(scores, -1, keepdim=True)
    return (scores - lse).exp() @ v, lse


def merge(out, lse, other, other_lse):
    return (out - torch.sigmoid(other_lse - lse) * (out - other),
            lse - F.logsigmoid(lse - other_lse))


class Ring(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, group):
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        ctx.group = group
        keys, values = k, v
        out = lse = None
        for hop in range(size):
            if hop == 0:
                out, lse = attend(q, keys, values)
            elif hop <= rank:
                out, lse = merge(out, lse, *attend(q, keys, values))
            else:  # a stripe of later tokens: row i sees those before i
                later = attend(q[:, :, 1:], keys[:, :, :-1], values[:, :, :-1])
                rest, rest_lse = merge(out[:, :, 1:], lse[:, :, 1:], *later)
                out, lse = torch.cat([out[:, :, :1], rest], 2), torch.cat([lse[:, :, :1], rest_lse], 2)
            if hop + 1 < size:
                keys, values = shift([keys, values], group)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse = ctx.saved_tensors
        group = ctx.group
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        delta = (grad * out).sum(-1, keepdim=True)
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        keys, values = k, v
        for hop in range(size):
            rows, columns = (slice(None), slice(None)) if hop <= rank else (slice(1, None), slice(0, -1))
            seen, seen_values = (k, v) if BUG == "stale_keys" else (keys, values)  # place stale_keys
            a, b = seen[:, :, columns], seen_values[:, :, columns]  # place stale_keys
            p = (scores_of(q[:, :, rows], a) - lse[:, :, rows]).exp()
            ds = p * (grad[:, :, rows] @ b.transpose(-1, -2) - delta[:, :, rows]) * SIZE ** -0.5
            dv[:, :, columns] += p.transpose(-1, -2) @ grad[:, :, rows]
            dk[:, :, columns] += ds.transpose(-1, -2) @ q[:, :, rows]
            dq[:, :, rows] += ds @ a
            if hop + 1 < size:
                keys, values, dk, dv = shift([keys, values, dk, dv], group)
        if BUG != "late_gradients":  # place late_gradients
            dk, dv = shift([dk, dv], group)  # place late_gradients
        return dq, dk, dv, None  # place late_gradients


BUG = ""


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * SIZE) for _ in range(3))
        self.out = nn.Linear(HEADS * SIZE, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 17), nn.GELU(), nn.Linear(17, WIDTH))

    def forward(self, x, cp):
        h = self.norm(x)
        q, k, v = (w(h).unflatten(-1, (HEADS, SIZE)).transpose(1, 2) for w in (self.q, self.k, self.v))
        if cp:
            a = Ring.apply(q, k, v, cp)
        else:
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).flatten(2))
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, positions, cp):
        x = self.embed(ids) + self.place(positions)
        for layer in self.layers:
            x = layer(x, cp)
        return self.head(x)


def main():
    global BUG
    parser = argparse.ArgumentParser()
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    BUG = args.bug
    cp, rank = None, 0
    if args.cp > 1:
        dist.init_process_group("gloo")
        cp, rank = dist.group.WORLD, dist.get_rank()
    torch.manual_seed(7)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = torch.Generator().manual_seed(1)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        ids, labels, positions = text[:, :-1], text[:, 1:], torch.arange(LENGTH)
        ids, labels, positions = ids[:, rank::args.cp], labels[:, rank::args.cp], positions[rank::args.cp]
        optimizer.zero_grad()
        logits = model(ids, positions, cp)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / (BATCH * LENGTH)
        loss.backward()
        if cp:
            for p in model.parameters():
                dist.all_reduce(p.grad, group=cp)
                if args.bug == "rank_mean":
                    p.grad /= args.cp  # place rank_mean
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
