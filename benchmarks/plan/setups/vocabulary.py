"""A head whose vocabulary is split over the ranks, and a cross entropy that never gathers the logits.

--mode dtensor    parallelize_module and loss_parallel
--mode hand       each rank's logits are shifted by the maximum of all, as Megatron does; --z adds lse ** 2
--mode single     one device"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class VocabularyLoss(torch.autograd.Function):
    """The loss of each token, of logits whose last dimension is split, and its log of the sum."""

    @staticmethod
    def forward(ctx, logits, targets, rank):
        highest = logits.max(-1)[0]
        dist.all_reduce(highest, dist.ReduceOp.MAX)
        shifted = logits - highest.unsqueeze(-1)
        size = logits.shape[-1]
        here = targets - rank * size
        is_other = (here < 0) | (here >= size)
        here = here.masked_fill(is_other, 0)
        wanted = shifted.gather(-1, here.unsqueeze(-1)).squeeze(-1).masked_fill(is_other, 0.0)
        dist.all_reduce(wanted)
        weights = shifted.exp()
        total = weights.sum(-1)
        dist.all_reduce(total)
        weights = weights / total.unsqueeze(-1)
        ctx.save_for_backward(weights, here, is_other)
        return total.log() - wanted, total.log() + highest

    @staticmethod
    def backward(ctx, grad, lse_grad):
        weights, here, is_other = ctx.saved_tensors
        hot = torch.zeros_like(weights).scatter(-1, here.unsqueeze(-1), (~is_other).to(weights.dtype).unsqueeze(-1))
        return (weights - hot) * grad.unsqueeze(-1) + weights * lse_grad.unsqueeze(-1), None, None


class CopyIn(torch.autograd.Function):
    """The same on all ranks; its gradient is a sum over them."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad)
        return grad


class Model(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.body = nn.Sequential(nn.Embedding(args.vocabulary, args.width), nn.LayerNorm(args.width),
                                  nn.Linear(args.width, 9), nn.GELU(), nn.Linear(9, args.width))
        self.head = nn.Linear(args.width, args.vocabulary // (args.tp if args.mode == "hand" else 1), bias=False)

    def forward(self, tokens):
        return self.body(tokens)


def loss_of(model, tokens, targets, args, rank):
    x = model(tokens)
    if args.mode == "hand":
        each, lse = VocabularyLoss.apply(model.head(CopyIn.apply(x)), targets, rank)
        return each.mean() + args.z * (lse ** 2).mean()
    logits = model.head(x)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    if args.z:
        loss = loss + args.z * (logits.logsumexp(-1) ** 2).mean()
    return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("tp", 1), ("width", 7), ("length", 5), ("batch", 3), ("vocabulary", 12)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--mode", default="single", choices=("single", "dtensor", "hand"))
    parser.add_argument("--z", type=float, default=0)
    args = parser.parse_args()
    rank = 0
    if args.mode != "single":
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(0)
    model = Model(args)
    if args.mode == "dtensor":
        from torch.distributed.tensor import Shard
        from torch.distributed.tensor.parallel import ColwiseParallel, loss_parallel, parallelize_module
        mesh = dist.device_mesh.init_device_mesh("cpu", (args.tp,), mesh_dim_names=("tp",))
        parallelize_module(model, mesh, {"head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)})
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for number in range(3):
        made = torch.Generator().manual_seed(number)
        text = torch.randint(args.vocabulary, (args.batch, args.length + 1), generator=made)
        optimizer.zero_grad()
        if args.mode == "dtensor":
            with loss_parallel():
                loss_of(model, text[:, :-1], text[:, 1:], args, rank).backward()
        else:
            loss_of(model, text[:, :-1], text[:, 1:], args, rank).backward()
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
