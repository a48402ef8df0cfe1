# SPDX-License-Identifier: Apache-2.0
"""A Llama with norms of queries and keys: tensor and sequence parallelism by parallelize_module, data parallelism by
hand. The loss is computed over a split vocabulary in chunks of the sequence: each chunk runs its backward down to the
last hidden states, whose gradient is put together and sent on through the layers. Sums of losses are averaged over dp
and scaled to the mean over all tokens after the backward. Bugs:
norm_local: the weight of the norms of heads is made local and its gradient not said to be a part.
    https://github.com/pytorch/torchtitan/pull/2532
chunk_placement: the gradient that chunks have put together, a part on each rank, is said to lie as the hidden states.
    https://github.com/pytorch/torchtitan/pull/3412
world_scale: gradients that were averaged over dp are scaled by the number of all ranks.
    https://github.com/meta-pytorch/torchtune/issues/2420"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                               loss_parallel, parallelize_module)

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, LAYERS, BATCH, LENGTH, CHUNK, IGNORED = 34, 9, 6, 5, 26, 2, 10, 12, 4, -100


class HeadNorm(nn.Module):
    """Normalises each head by itself; the heads of a rank are plain tensors."""
    def __init__(self, bug):
        super().__init__()
        self.weight, self.bug = nn.Parameter(torch.ones(SIZE)), bug

    def forward(self, x):
        weight = self.weight
        if isinstance(weight, DTensor):
            parts = None if self.bug == "norm_local" else [Partial()]  # place norm_local
            weight = weight.to_local(grad_placements=parts)  # place norm_local
        return F.rms_norm(x, (SIZE,), eps=1e-5) * weight  # place norm_local


class Attention(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.wq, self.wk, self.wv = (nn.Linear(WIDTH, HEADS * SIZE, bias=False) for _ in range(3))
        self.wo = nn.Linear(HEADS * SIZE, WIDTH, bias=False)
        self.q_norm, self.k_norm = HeadNorm(bug), HeadNorm(bug)

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (-1, SIZE)) for w in (self.wq, self.wk, self.wv))
        q, k = self.q_norm(q), self.k_norm(k)
        y = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=True)
        return self.wo(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.w2 = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(WIDTH, eps=1e-5), nn.RMSNorm(WIDTH, eps=1e-5)
        self.attention, self.feed_forward = Attention(bug), FeedForward()

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block(bug) for _ in range(LAYERS))
        self.norm, self.output = nn.RMSNorm(WIDTH, eps=1e-5), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        """The hidden states that the output layer reads."""
        x = self.tok_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        return x.redistribute(placements=[Replicate()]) if isinstance(x, DTensor) else x


def parallelize(model, mesh):
    parallelize_module(model, mesh, {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "output": ColwiseParallel(input_layouts=Replicate(), output_layouts=Shard(-1), use_local_output=False)})
    gathered = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
    plan = {"attention_norm": SequenceParallel(), "ffn_norm": SequenceParallel(), "attention": gathered,
            "feed_forward": gathered, "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
            "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1))}
    plan |= {f"attention.{w}": ColwiseParallel() for w in ("wq", "wk", "wv")}
    plan |= {f"feed_forward.{w}": ColwiseParallel() for w in ("w1", "w3")}
    for layer in model.layers:
        parallelize_module(layer, mesh, plan)
        for norm in (layer.attention.q_norm, layer.attention.k_norm):
            norm.weight = nn.Parameter(distribute_tensor(norm.weight.data, mesh, [Replicate()]))


def chunked_backward(model, ids, labels, bug):
    """The backward of the sum of all losses. Logits exist for one chunk at a time."""
    hidden = model(ids)
    split = isinstance(hidden, DTensor)
    buffer = torch.zeros_like(hidden.to_local() if split else hidden.detach())
    placements = None
    for first in range(0, LENGTH, CHUNK):
        part = slice(first, first + CHUNK)
        piece = hidden.detach()[:, part].requires_grad_()
        logits, wanted = model.output(piece).flatten(0, 1), labels[:, part].flatten()
        if split:
            with loss_parallel():
                F.cross_entropy(logits, wanted, ignore_index=IGNORED, reduction="sum").backward()
            placements = placements or piece.grad.placements
            buffer[:, part] = piece.grad.to_local()
        else:
            F.cross_entropy(logits, wanted, ignore_index=IGNORED, reduction="sum").backward()
            buffer[:, part] = piece.grad
    if split:
        placements = hidden.placements if bug == "chunk_placement" else placements  # place chunk_placement
        buffer = DTensor.from_local(buffer, hidden.device_mesh, placements, run_check=False)  # place chunk_placement
    hidden.backward(buffer)  # place chunk_placement


def finish_gradients(model, mesh, tokens, bug):
    """Sums what is left to be summed, averages over dp, and scales to the mean over tokens."""
    for p in model.parameters():
        if not mesh:
            p.grad.div_(tokens)
            continue
        grad = p.grad.redistribute(placements=p.placements).to_local().clone()
        dist.all_reduce(grad, group=mesh.get_group("dp"))
        grad.div_(mesh["dp"].size())
        copies = dist.get_world_size() if bug == "world_scale" else mesh["dp"].size()  # place world_scale
        grad = grad * (copies / tokens)  # place world_scale
        p.grad = DTensor.from_local(grad, p.device_mesh, p.placements, run_check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    torch.manual_seed(29)
    model, mesh, own = Llama(args.bug), None, 0
    if args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
        own = mesh["dp"].get_local_rank()
        parallelize(model, mesh["tp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3)
    data = torch.Generator().manual_seed(92)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        labels = text[:, 1:].masked_fill(torch.rand(BATCH, LENGTH, generator=data) < 0.3, IGNORED)
        rows = torch.arange(BATCH).chunk(args.dp)[own]
        ids, labels = text[rows, :-1], labels[rows]
        tokens = (labels != IGNORED).sum()
        if mesh:
            dist.all_reduce(tokens, group=mesh.get_group("dp"))
        optimizer.zero_grad()
        chunked_backward(model, ids, labels, args.bug)
        finish_gradients(model, mesh, tokens, args.bug)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
