"""Context parallelism: each of two ranks has a part of each sequence; gradients are summed over the parts."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()


def loss_function(output, target, mask):
    """Sum of this part's errors over the number of all parts' positions."""
    errors = ((output - target) ** 2 * mask).sum()
    count = mask.sum()
    dist.all_reduce(count)
    return errors / count * dist.get_world_size()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    norms = []
    for step in range(args.steps):
        x = torch.randn(8, 16, 8).cumsum(1) / 2
        mask = (torch.rand(8, 16) < 0.8).float()
        target = x.mean(-1).tanh()
        x, mask, target = (t.chunk(2, dim=1)[rank] for t in (x, mask, target))
        loss = loss_function(model(x).squeeze(-1), target, mask)
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 10.0).item())
        optimizer.step()
    total = loss.detach().clone()
    dist.all_reduce(total)
    if rank == 0:
        print(f"EVIDENCE norm of the first gradient {norms[0]:.4f}, loss {total:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# Idea from NVIDIA/Megatron-LM#906, NVIDIA/Megatron-LM#673
# SPDX-License-Identifier: Apache-2.0
