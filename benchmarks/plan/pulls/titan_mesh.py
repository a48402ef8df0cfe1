# SPDX-License-Identifier: Apache-2.0
"""A decoder with tensor and sequence parallelism by parallelize_module, within FSDP2: norms of queries and keys for
each head, loss over a split vocabulary, tokens with weight zero, and a term that keeps probabilities flat. Bugs:
norm_local: weights of the head norms are taken as local tensors without saying that their gradient is a part.
    https://github.com/pytorch/torchtitan/issues/2217 and https://github.com/pytorch/torchtitan/pull/2532
tokens_mesh: tokens are counted over all ranks, those of tp, which have the same tokens, too.
    https://github.com/huggingface/transformers/issues/39648
flat_identity: the flat term takes log_softmax of the split logits within loss_parallel(): its backward is the identity.
    https://github.com/pytorch/pytorch/issues/190746"""
import argparse
import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                               loss_parallel, parallelize_module)

VOCABULARY, WIDTH, HEADS, HEAD, HIDDEN, BATCH, LENGTH, LAYERS, FLAT = 30, 12, 6, 7, 22, 18, 10, 2, 0.25


class HeadNorm(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug, self.weight = bug, nn.Parameter(1 + torch.randn(HEAD) / 5)

    def forward(self, x):
        weight = self.weight
        if isinstance(weight, DTensor):
            if self.bug == "norm_local":
                weight = weight.to_local()  # place norm_local
            else:
                weight = weight.to_local(grad_placements=[Partial()])
        return F.rms_norm(x, (HEAD,), eps=1e-5) * weight


class Attention(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.wq, self.wk, self.wv = (nn.Linear(WIDTH, HEADS * HEAD, bias=False) for _ in range(3))
        self.wo = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.q_norm, self.k_norm = HeadNorm(bug), HeadNorm(bug)

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (-1, HEAD)) for w in (self.wq, self.wk, self.wv))
        q, k = self.q_norm(q), self.k_norm(k)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
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


class Model(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block(bug) for _ in range(LAYERS))
        self.norm, self.output = nn.RMSNorm(WIDTH, eps=1e-5), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.tok_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


def parallelize(model, mesh):
    tp = mesh["tp"]
    parallelize_module(model, tp, {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)})
    for layer in model.layers:
        parallelize_module(layer, tp, {
            "attention_norm": SequenceParallel(),
            "attention": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "attention.wq": ColwiseParallel(), "attention.wk": ColwiseParallel(), "attention.wv": ColwiseParallel(),
            "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
            "ffn_norm": SequenceParallel(),
            "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "feed_forward.w1": ColwiseParallel(), "feed_forward.w3": ColwiseParallel(),
            "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1))})
        for norm in (layer.attention.q_norm, layer.attention.k_norm):
            distribute_module(norm, tp)
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])


def flat_term(logits, kept, bug):
    """The mean over the vocabulary of minus log probability, summed over tokens."""
    if bug != "flat_identity" and isinstance(logits, DTensor):
        logits = logits.full_tensor()
    means = -F.log_softmax(logits, -1).mean(-1)  # place flat_identity
    if isinstance(means, DTensor):
        means = means.full_tensor()
    return (means * kept.flatten()).sum()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    torch.manual_seed(83)
    model, mesh, rank = Model(args.bug), None, 0
    if args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
        rank = mesh.get_local_rank("dp")
        parallelize(model, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(38)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        kept = torch.rand(BATCH, LENGTH, generator=data) < 0.75
        text, kept = text.chunk(args.dp)[rank], kept.chunk(args.dp)[rank]
        labels = text[:, 1:].masked_fill(~kept, -100).flatten()
        total = kept.sum()
        if mesh:
            group = dist.group.WORLD if args.bug == "tokens_mesh" else mesh.get_group("dp")
            dist.all_reduce(total, group=group)  # place tokens_mesh
        optimizer.zero_grad()
        with loss_parallel() if mesh else contextlib.nullcontext():
            logits = model(text[:, :-1]).flatten(0, 1)
            loss = F.cross_entropy(logits, labels, reduction="sum", ignore_index=-100)
            if isinstance(loss, DTensor):
                loss = loss.full_tensor()
            loss = loss + FLAT * flat_term(logits, kept, args.bug)
            (loss * args.dp / total).backward()  # place tokens_mesh
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
