"""Data parallelism by hand: weights broadcast at the start, gradients averaged by all_reduce."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

from options import options


def partition(n, rank, size, generator):
    """This rank's rows of an order that all ranks draw alike."""
    return torch.randperm(n, generator=generator)[rank::size]


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad, op=dist.ReduceOp.SUM)
        param.grad /= size


def run(rank, size, store, args):
    from sklearn.datasets import load_wine

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed + 100 * rank)
    raw = load_wine()
    x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
    y = torch.tensor(raw.target)
    model = nn.Sequential(nn.Linear(13, args.width), nn.Tanh(), nn.Linear(args.width, 3))
    for p in model.parameters():
        dist.broadcast(p.data, src=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)
    generator = torch.Generator().manual_seed(1234)
    batch = 22
    for epoch in range(max(2, args.steps // 4)):
        mine = partition(len(x), rank, size, generator)
        total = 0.0
        for idx in mine[: 4 * batch].split(batch):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            total += loss.item()
            loss.backward()
            average_gradients(model)
            optimizer.step()
        if rank == 0 and epoch % 3 == 2:
            print(f"epoch {epoch}: loss {total / 4:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(run, args=(2, tmp + "/store", options(lr=0.1, width=24, steps=36)), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
