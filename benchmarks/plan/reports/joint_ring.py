# SPDX-License-Identifier: Apache-2.0
"""Patches of a picture attend to all patches and to the tokens of a text. Patches are split over context parallelism,
and keys and values of theirs go round a ring; the text is on each rank. Forward and backward of the ring are by hand.
Bugs:
text_rotated: the text goes round the ring with the patches, and is counted with each hop.
    https://github.com/sgl-project/sglang/pull/33327 (the bug that the validation found)
stale_keys: the backward computes each hop with the keys and values that the forward saved, those of the rank.
    https://github.com/huggingface/diffusers/issues/14265
copied: gradients of keys and values that arrive from the rank before are overwritten in the last hop, not added to.
    https://github.com/NVIDIA/TransformerEngine/issues/1054 (suspected there)"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

WORDS, PATCH, WIDTH, HEADS, SIZE, BATCH, PATCHES, TEXT, HIDDEN, LAYERS = 21, 6, 13, 2, 7, 3, 12, 5, 17, 2


def rotate(*tensors):
    """Sends tensors to the next rank, returns those of the one before."""
    rank, size = dist.get_rank(), dist.get_world_size()
    received = [torch.empty_like(t, memory_format=torch.contiguous_format) for t in tensors]
    ops = []
    for ours, theirs in zip(tensors, received):
        ops.append(dist.P2POp(dist.isend, ours.contiguous(), (rank + 1) % size))
        ops.append(dist.P2POp(dist.irecv, theirs, (rank - 1) % size))
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return received


def block_back(q, k, v, lse, delta, grad):
    """Gradients of q, k and v of one block."""
    p = (q @ k.transpose(-1, -2) / SIZE ** 0.5 - lse).exp()
    ds = p * (grad @ v.transpose(-1, -2) - delta) / SIZE ** 0.5
    return ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ grad


class Ring(torch.autograd.Function):
    """q, k, v: batch, heads, patches of the rank, SIZE; also_k, also_v: of the text, or of no token."""
    @staticmethod
    def forward(ctx, q, k, v, also_k, also_v, bug):
        highest = torch.full_like(q[..., :1], float("-inf"))
        total, out = torch.zeros_like(q[..., :1]), torch.zeros_like(q)
        blocks = [(also_k, also_v)] if also_k.size(2) else []
        block, hops = (k.contiguous(), v.contiguous()), dist.get_world_size()
        for hop in range(hops):
            blocks.append(block)
            if hop + 1 < hops:
                block = rotate(*block)
        for block_k, block_v in blocks:
            scores = q @ block_k.transpose(-1, -2) / SIZE ** 0.5
            higher = torch.maximum(highest, scores.max(-1, keepdim=True).values)
            rescale, p = (highest - higher).exp(), (scores - higher).exp()
            total = total * rescale + p.sum(-1, keepdim=True)
            out, highest = out * rescale + p @ block_v, higher
        out, lse = out / total, highest + total.log()
        ctx.save_for_backward(q, k, v, also_k, also_v, out, lse)
        ctx.bug = bug
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, also_k, also_v, out, lse = ctx.saved_tensors
        delta = (grad * out).sum(-1, keepdim=True)
        dq, d_also_k, d_also_v = block_back(q, also_k, also_v, lse, delta, grad)
        dk, dv = torch.zeros_like(k), torch.zeros_like(v)
        block, hops = (k.contiguous(), v.contiguous()), dist.get_world_size()
        for hop in range(hops):
            if ctx.bug == "stale_keys":
                more_q, more_k, more_v = block_back(q, k, v, lse, delta, grad)  # place stale_keys
            else:
                more_q, more_k, more_v = block_back(q, *block, lse, delta, grad)  # place stale_keys
            dq = dq + more_q
            if ctx.bug == "copied" and hop == hops - 1:
                dk, dv = more_k, more_v  # place copied
            else:
                dk, dv = dk + more_k, dv + more_v  # place copied
            *block, dk, dv = rotate(*block, dk, dv)
        return dq, dk, dv, d_also_k, d_also_v, None


class Attention(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.cp, self.bug = cp, bug
        self.q, self.kv = nn.Linear(WIDTH, HEADS * SIZE), nn.Linear(WIDTH, 2 * HEADS * SIZE)
        self.text_kv = nn.Linear(WIDTH, 2 * HEADS * SIZE)
        self.out = nn.Linear(HEADS * SIZE, WIDTH)

    def forward(self, x, text):
        def heads(t):
            return t.unflatten(-1, (-1, SIZE)).transpose(1, 2)
        q = heads(self.q(x))
        k, v = map(heads, self.kv(x).chunk(2, -1))
        also_k, also_v = map(heads, self.text_kv(text).chunk(2, -1))
        if not self.cp:
            k, v = torch.cat((also_k, k), 2), torch.cat((also_v, v), 2)
            y = (q @ k.transpose(-1, -2) / SIZE ** 0.5).softmax(-1) @ v
        elif self.bug == "text_rotated":
            k, v = torch.cat((also_k, k), 2), torch.cat((also_v, v), 2)  # place text_rotated
            y = Ring.apply(q, k, v, also_k[:, :, :0], also_v[:, :, :0], self.bug)  # place text_rotated
        else:
            y = Ring.apply(q, k, v, also_k, also_v, self.bug)
        return self.out(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention(cp, bug)
        self.norm2, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x, text):
        x = x + self.attention(self.norm1(x), text)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        self.words, self.enter = nn.Embedding(WORDS, WIDTH), nn.Linear(PATCH, WIDTH)
        self.places = nn.Parameter(torch.randn(PATCHES, WIDTH) / 3)
        self.blocks = nn.ModuleList(Block(cp, bug) for _ in range(LAYERS))
        self.leave = nn.Linear(WIDTH, PATCH)

    def forward(self, patches, text, first):
        x = self.enter(patches) + self.places[first:first + patches.size(1)]
        text = self.words(text)
        for block in self.blocks:
            x = block(x, text)
        return self.leave(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    cp, rank = args.cp > 1, 0
    if cp:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(71)
    model = Model(cp, args.bug)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(34)
    for _ in range(args.steps):
        pictures = torch.randn(BATCH, PATCHES, PATCH, generator=data)
        wanted = torch.randn(BATCH, PATCHES, PATCH, generator=data)
        text = torch.randint(WORDS, (BATCH, TEXT), generator=data)
        pictures, wanted = (t.chunk(args.cp, 1)[rank] for t in (pictures, wanted))
        optimizer.zero_grad()
        got = model(pictures, text, rank * pictures.size(1))
        ((got - wanted).pow(2).sum() / (BATCH * PATCHES * PATCH)).backward()
        if cp:
            for p in model.parameters():
                dist.all_reduce(p.grad)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
