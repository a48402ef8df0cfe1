"""Sharded optimizer states: each of two ranks has half of the gradient, clips it by the whole norm and updates its half."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()


def clip_shard(shard, max_norm=0.5):
    squared = shard.pow(2).sum()
    dist.all_reduce(squared)
    coefficient = (max_norm / (squared.sqrt() + 1e-6)).clamp(max=1.0)
    return shard * coefficient, coefficient.item()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(10, 40), nn.Tanh(), nn.Linear(40, 10))
    rotation = torch.linalg.qr(torch.randn(10, 10)).Q
    flat = parameters_to_vector(model.parameters()).detach()
    master = nn.Parameter(flat.chunk(2)[rank].clone())
    optimizer = torch.optim.SGD([master], lr=args.lr, momentum=0.9)
    torch.manual_seed(args.seed + 1 + rank)
    for step in range(args.steps):
        x = torch.randn(16, 10)
        loss = nn.functional.mse_loss(model(x), 3 * (x @ rotation).tanh())
        model.zero_grad()
        loss.backward()
        gradient = parameters_to_vector([p.grad for p in model.parameters()])
        dist.all_reduce(gradient)
        master.grad, coefficient = clip_shard(gradient.chunk(2)[rank] / 2)
        optimizer.step()
        parts = [torch.empty_like(t) for t in flat.chunk(2)]
        dist.all_gather(parts, master.detach())
        vector_to_parameters(torch.cat(parts), model.parameters())
    coefficients = [torch.empty(1) for _ in range(2)]
    dist.all_gather(coefficients, torch.tensor([coefficient]))
    if rank == 0:
        print(f"EVIDENCE factors of the ranks {[round(c.item(), 4) for c in coefficients]}, loss {loss:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# Idea from sgl-project/SpecForge#663, areal-project/AReaL#312
# SPDX-License-Identifier: Apache-2.0
