"""A classifier whose output layer is split over two ranks by classes; the cross entropy is computed on the parts."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()
CLASSES = 12


class Reduce(torch.autograd.Function):
    """Sum over ranks whose gradient goes to each rank's part as it is."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Copy(torch.autograd.Function):
    """The same on all ranks; gradients of the ranks' parts are added."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


def vocab_parallel_loss(logits, labels, rank):
    part = logits.shape[1]
    largest = logits.detach().amax(1)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    logits = logits - largest[:, None]
    local = labels - rank * part
    is_mine = (local >= 0) & (local < part)
    target = logits.gather(1, local.clamp(0, part - 1)[:, None]).squeeze(1) * is_mine
    target = Reduce.apply(target)
    total = Reduce.apply(logits.exp().sum(1))
    return (total.log() - target).mean()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    trunk = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
    centres = torch.randn(CLASSES, 16)
    generator = torch.Generator().manual_seed(args.seed + 1)
    torch.manual_seed(args.seed + 10 + rank)
    head = nn.Linear(32, CLASSES // 2)
    optimizer = torch.optim.Adam([*trunk.parameters(), *head.parameters()], lr=args.lr)
    for step in range(args.steps):
        labels = torch.randint(0, CLASSES, (32,), generator=generator)
        x = centres[labels] + torch.randn(32, 16, generator=generator)
        loss = vocab_parallel_loss(head(Copy.apply(trunk(x))), labels, rank)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    weights = [torch.empty(32, 16) for _ in range(2)]
    dist.all_gather(weights, trunk[0].weight.detach())
    if rank == 0:
        print(f"EVIDENCE trunks differ by {(weights[0] - weights[1]).abs().max():.5f}, loss {loss.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
