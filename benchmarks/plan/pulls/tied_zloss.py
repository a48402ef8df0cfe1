# SPDX-License-Identifier: Apache-2.0
"""A vocabulary split over tensor parallelism with DTensor, tied: parallelize_module splits the embedding and the
layers, the output layer multiplies by the shard of the embedding. The loss of a split vocabulary is by hand, with a
z-loss: the square of the log of the sum of all exponentials. Bugs:
shard_z: the z-loss takes the log of the sum over the rank's part of the vocabulary.
    https://github.com/bigscience-workshop/Megatron-DeepSpeed/issues/394 (asked there of the cross entropy)
owner_only: the log-probability is masked to the rank that has the label, and then summed: others get no gradient.
    https://github.com/modelscope/ms-swift/pull/9947
hidden_partial: the gradient of the output layer's input is that of the rank's part of the vocabulary.
    https://github.com/apple/ml-cross-entropy/pull/42"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, Z_LOSS, IGNORED = 26, 11, 18, 5, 7, 2, 0.03, -100


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.randn(LENGTH, WIDTH) / 2)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.mlps = nn.ModuleList(MLP() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, ids):
        x = self.words(ids) + self.places
        for norm, mlp in zip(self.norms, self.mlps):
            x = x + mlp(norm(x))
        return self.norm(x)


def parallelize(model, mesh):
    plan = {"words": RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate())}
    for i in range(LAYERS):
        plan |= {f"mlps.{i}.gate": ColwiseParallel(), f"mlps.{i}.up": ColwiseParallel(),
                 f"mlps.{i}.down": RowwiseParallel()}
    parallelize_module(model, mesh, plan)


def output(model, x, mesh, bug):
    """Logits of the part of the vocabulary of this rank."""
    weight = model.words.weight
    if not mesh:
        return F.linear(x, weight)
    if bug == "hidden_partial":
        return F.linear(x, weight.to_local())  # place hidden_partial
    x = DTensor.from_local(x, mesh, [Replicate()], run_check=False)
    return F.linear(x, weight).to_local()


def split_losses(logits, labels, mesh, bug):
    """Of each token the cross entropy and the z-loss, where the vocabulary is split."""
    group = mesh.get_group()
    highest = logits.detach().max(-1).values
    dist.all_reduce(highest, op=dist.ReduceOp.MAX, group=group)
    exponentials = (logits - highest.unsqueeze(-1)).exp().sum(-1)
    total = Reduce.apply(exponentials, group)
    log_total = total.log() + highest
    first = dist.get_rank(group) * logits.size(-1)
    own = (labels >= first) & (labels < first + logits.size(-1))
    picked = logits.gather(-1, (labels - first).masked_fill(~own, 0).unsqueeze(-1)).squeeze(-1)
    if bug == "owner_only":
        picked = (picked - log_total).masked_fill(~own, 0)  # place owner_only
        dist.all_reduce(picked, group=group)  # place owner_only
        losses = -picked
    else:
        losses = log_total - Reduce.apply(picked.masked_fill(~own, 0), group)
    if bug == "shard_z":
        log_total = logits.logsumexp(-1)  # place shard_z
    return losses, log_total.square()  # place shard_z


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    mesh = None
    torch.manual_seed(58)
    model = Model()
    if args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.tp,), mesh_dim_names=("tp",))
        parallelize(model, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3, foreach=False)
    data = torch.Generator().manual_seed(20)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        ids, labels = text[:, :-1], text[:, 1:].clone()
        labels[0, 4:], labels[3, 2:] = IGNORED, IGNORED
        optimizer.zero_grad()
        logits = output(model, model(ids), mesh, args.bug)
        if mesh:
            losses, squares = split_losses(logits, labels, mesh, args.bug)
        else:
            losses = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)
            squares = logits.logsumexp(-1).square()
        kept = labels != IGNORED
        (((losses + Z_LOSS * squares) * kept).sum() / kept.sum()).backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
