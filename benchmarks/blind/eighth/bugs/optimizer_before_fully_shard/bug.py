"""Two ranks with fully sharded weights (FSDP2) learn to classify sequences."""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Model(nn.Module):
    def __init__(self, width=32, blocks=2):
        super().__init__()
        self.inp = nn.Linear(12, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(blocks))
        self.head = nn.Linear(width, 6)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def setup(args):
    mesh = init_device_mesh("cpu", (2,))
    torch.manual_seed(args.seed)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model, optimizer


def worker(rank, args, store):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    model, optimizer = setup(args)
    centres = torch.randn(6, 12)
    generator = torch.Generator().manual_seed(1000 * args.seed + rank)
    first = None
    for step in range(1, args.steps + 1):
        y = torch.randint(6, (32,), generator=generator)
        x = centres[y] + 0.6 * torch.randn(32, 12, generator=generator)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        mean /= 2
        first = mean.item() if first is None else first
        if step % 10 == 0 and rank == 0:
            print(f"step {step}: loss {mean.item():.4f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE loss {first:.4f} in the first step, {mean.item():.4f} in the last", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=40)
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(worker, args=(parser.parse_args(), os.path.join(folder, "store")), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
