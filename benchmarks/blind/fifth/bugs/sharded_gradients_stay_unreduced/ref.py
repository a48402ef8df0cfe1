"""Two ranks shard a model with fully_shard; gradients of three micro-batches are gathered and reduced with the last one."""

import argparse
import copy
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()
RANKS, WINDOW, SIZE = 2, 3, 16


def missing_share(model, replica, batches):
    """How far the reduced gradients are from those of a replica that is not sharded, relative to their norm."""
    for x, y in batches:
        (nn.functional.mse_loss(replica(x), y) / WINDOW).backward()
    apart = norm = 0.0
    for sharded, whole in zip(model.parameters(), replica.parameters()):
        dist.all_reduce(whole.grad)
        whole.grad /= RANKS
        apart += (sharded.grad.full_tensor() - whole.grad).square().sum()
        norm += whole.grad.square().sum()
    return (apart / norm).sqrt().item()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    mesh = init_device_mesh("cpu", (RANKS,))
    truth = torch.randn(12, 3)
    model = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 3))
    replica = copy.deepcopy(model)
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    torch.manual_seed(args.seed + 50 + rank)
    for step in range(args.steps):
        total, batches = 0.0, []
        for part in range(WINDOW):
            last = part == WINDOW - 1
            model.set_requires_gradient_sync(last)
            x = torch.randn(SIZE, 12)
            batches.append((x, x @ truth))
            loss = nn.functional.mse_loss(model(x), x @ truth) / WINDOW
            loss.backward()
            total += loss.item()
        if step == 0:
            missing = missing_share(model, replica, batches)
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 6 == 5:
            print(f"step {step}: loss {total:.4f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE {missing:.3f} of the gradient of the first step is missing", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=RANKS, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
