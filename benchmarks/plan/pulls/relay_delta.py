# SPDX-License-Identifier: Apache-2.0
"""A gated delta rule over sequences that are split over cp: each rank sums up its tokens as a map of the state, the
maps of all ranks are gathered, and the state that enters the rank is folded from those before it. A short causal
convolution takes two tokens from the rank before. Documents are packed in a row; nothing may look across them. Bugs:
conv_resets: boundaries of documents are taken from the shard, so the convolution starts anew on every rank.
    https://github.com/PrimeIntellect-ai/prime-rl/pull/3003
across_documents: the recurrence gets one sequence for the row, and carries its state into the next document.
    https://github.com/hiyouga/LlamaFactory/pull/10787
head_gate: the backward that passes gradients of states from rank to rank reads the decay of the first head for all.
    https://github.com/fla-org/flash-linear-attention/issues/1115"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HEADS, KEY, VALUE, TAPS, BATCH, LENGTH, LAYERS = 26, 11, 2, 5, 4, 3, 6, 21, 2
CHANNELS = HEADS * (2 * KEY + VALUE)


class Before(torch.autograd.Function):
    """The last tokens of the rank before; zeros on the first rank."""
    @staticmethod
    def forward(ctx, x, count, group):
        ctx.group, ctx.shape, ctx.count = group, x.shape, count
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        got, work = torch.zeros_like(x[:, -count:]), []
        if rank < size - 1:
            work.append(dist.isend(x[:, -count:].contiguous(), dist.get_global_rank(group, rank + 1), group))
        if rank > 0:
            work.append(dist.irecv(got, dist.get_global_rank(group, rank - 1), group))
        for w in work:
            w.wait()
        return got

    @staticmethod
    def backward(ctx, grad):
        rank, size = dist.get_rank(ctx.group), dist.get_world_size(ctx.group)
        got, work = torch.zeros_like(grad), []
        if rank > 0:
            work.append(dist.isend(grad.contiguous(), dist.get_global_rank(ctx.group, rank - 1), ctx.group))
        if rank < size - 1:
            work.append(dist.irecv(got, dist.get_global_rank(ctx.group, rank + 1), ctx.group))
        for w in work:
            w.wait()
        back = grad.new_zeros(ctx.shape)
        back[:, -ctx.count:] = got
        return back, None, None


class Fold(torch.autograd.Function):
    """The state that enters this rank: S -> decay * S @ turn + add, over the ranks before it."""
    @staticmethod
    def forward(ctx, decay, turn, add, group, bug):
        size = dist.get_world_size(group)
        ctx.group, ctx.bug = group, bug
        decays, turns, adds = ([torch.empty_like(t) for _ in range(size)] for t in (decay, turn, add))
        for pieces, t in ((decays, decay), (turns, turn), (adds, add)):
            dist.all_gather(pieces, t.contiguous(), group=group)
        states = [torch.zeros_like(add)]
        for d, t, a in zip(decays[:-1], turns, adds):
            states.append(d[..., None, None] * states[-1] @ t + a)
        rank = dist.get_rank(group)
        ctx.save_for_backward(states[rank], *decays, *turns)
        return states[rank].clone()

    @staticmethod
    def backward(ctx, grad):
        size, rank = dist.get_world_size(ctx.group), dist.get_rank(ctx.group)
        state, decays, turns = ctx.saved_tensors[0], ctx.saved_tensors[1:size + 1], ctx.saved_tensors[size + 1:]
        grads = [torch.empty_like(grad) for _ in range(size)]
        dist.all_gather(grads, grad.contiguous(), group=ctx.group)
        after = torch.zeros_like(grad)  # the gradient of the state that leaves this rank
        for other in range(size - 1, rank, -1):
            gate = decays[other]
            if ctx.bug == "head_gate":
                gate = gate[:, :1]  # place head_gate
            after = grads[other] + gate[..., None, None] * after @ turns[other].mT  # place head_gate
        d_decay = (after * (state @ turns[rank])).sum((-2, -1))
        return d_decay, decays[rank][..., None, None] * state.mT @ after, after, None, None


class DeltaRule(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.cp, self.bug = cp, bug
        self.inner = nn.Linear(WIDTH, CHANNELS, bias=False)
        self.taps = nn.Parameter(torch.randn(TAPS, CHANNELS))
        self.gates = nn.Linear(WIDTH, 2 * HEADS)
        nn.init.constant_(self.gates.bias[:HEADS], 1.5)  # decays begin slowly
        self.out = nn.Linear(HEADS * VALUE, WIDTH, bias=False)

    def convolve(self, x, documents, start):
        reach = TAPS - 1
        before = x.new_zeros(x.size(0), reach, CHANNELS)
        if self.cp and self.bug != "conv_resets":
            before = Before.apply(x, reach, self.cp)  # place conv_resets
        longer, own = torch.cat((before, x), 1), documents[:, start + reach:start + reach + x.size(1)]
        y = 0
        for tap in range(TAPS):
            same = documents[:, start + reach - tap:start + reach - tap + x.size(1)] == own
            y = y + longer[:, reach - tap:reach - tap + x.size(1)] * self.taps[tap] * same.unsqueeze(-1)
        return F.silu(y)

    def forward(self, x, documents, start):
        batch, length = x.shape[:2]
        q, k, v = self.convolve(self.inner(x), documents, start).split(
            (HEADS * KEY, HEADS * KEY, HEADS * VALUE), -1)
        q, k, v = (t.view(batch, length, HEADS, -1) for t in (q, k, v))
        decay, beta = self.gates(x).sigmoid().chunk(2, -1)
        row = documents[:, TAPS - 2:]
        keep = (row[:, 1:] == row[:, :-1])[:, start:start + length].to(x.dtype)
        if self.cp and self.bug == "across_documents":
            keep = torch.ones_like(keep)  # place across_documents
        decay = decay * keep.unsqueeze(-1)  # place across_documents
        turn = torch.eye(KEY) - beta[..., None, None] * k.unsqueeze(-1) * k.unsqueeze(-2)
        add = beta[..., None, None] * v.unsqueeze(-1) * k.unsqueeze(-2)
        state = x.new_zeros(batch, HEADS, VALUE, KEY)
        if self.cp:
            all_decay, all_turn, all_add = decay[:, 0], turn[:, 0], add[:, 0]
            for t in range(1, length):
                all_add = decay[:, t, :, None, None] * all_add @ turn[:, t] + add[:, t]
                all_decay, all_turn = all_decay * decay[:, t], all_turn @ turn[:, t]
            state = Fold.apply(all_decay, all_turn, all_add, self.cp, self.bug)
        read = []
        for t in range(length):
            state = decay[:, t, :, None, None] * state @ turn[:, t] + add[:, t]
            read.append((state @ q[:, t].unsqueeze(-1)).flatten(1))
        return self.out(torch.stack(read, 1))


class Model(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS + 1))
        self.layers = nn.ModuleList(DeltaRule(cp, bug) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, documents, start):
        x = self.embed(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x), documents, start)
        return self.head(self.norms[-1](x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    cp, rank = None, 0
    if args.cp > 1:
        dist.init_process_group("gloo")
        cp = init_device_mesh("cpu", (args.cp,), mesh_dim_names=("cp",)).get_group()
        rank = dist.get_rank(cp)
    torch.manual_seed(5)
    model = Model(cp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(21)
    length = LENGTH // args.cp
    start = rank * length
    for step in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        ends = torch.tensor([(4, 16), (9, 18), (2, 5), (6, 17), (3, 20), (13, 14)]).roll(step, 0)
        documents = (torch.arange(LENGTH + 1) >= ends[:, :1]).int() + (torch.arange(LENGTH + 1) >= ends[:, 1:]).int()
        labels = text[:, 1:].masked_fill(documents[:, 1:] != documents[:, :-1], -100)[:, start:start + length]
        documents = F.pad(documents[:, :-1], (TAPS - 1, 0), value=-1)
        total = (labels != -100).sum()
        if cp:
            dist.all_reduce(total, group=cp)
        optimizer.zero_grad()
        logits = model(text[:, start:start + length], documents, start)
        (F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / total).backward()
        if cp:
            for p in model.parameters():
                dist.all_reduce(p.grad, group=cp)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
