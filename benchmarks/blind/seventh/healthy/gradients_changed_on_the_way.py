"""Gradients are compressed between two ranks; errors are fed back."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()


class Feedback:
    """What rounding took away from a bucket is added to its next gradient."""

    def __init__(self):
        self.lost = {}

    def round(self, bucket):
        wanted = bucket.buffer() + self.lost.get(bucket.index(), 0)
        sent = wanted.to(torch.bfloat16)
        self.lost[bucket.index()] = wanted - sent.to(wanted.dtype)
        return sent


def compressed(feedback, bucket):
    gradient = bucket.buffer()
    work = dist.all_reduce(feedback.round(bucket), async_op=True)
    return work.get_future().then(lambda future: gradient.copy_(future.value()[0].to(gradient.dtype) / dist.get_world_size()))


def network():
    return nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 3))


def agree(model):
    """The greatest difference between the ranks' weights."""
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    parts = [torch.empty_like(flat) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, flat)
    return (parts[0] - parts[1]).abs().max().item()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x = torch.randn(900, 10)
    y = (x @ torch.randn(10, 3) + 0.3 * torch.randn(900, 3)).argmax(1)
    model = DistributedDataParallel(network(), gradient_as_bucket_view=True, static_graph=True, bucket_cap_mb=1)
    model.register_comm_hook(Feedback(), compressed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    generator = torch.Generator().manual_seed(1000 * args.seed + rank)
    size = 24 if rank == 0 else 40
    for step in range(1, args.steps + 1):
        rows = torch.randint(rank, 350, (size,), generator=generator) * 2 + rank
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows], reduction="sum") / 32
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            apart = agree(model)
            with torch.no_grad():
                right = (model.module(x[702:]).argmax(1) == y[702:]).float().mean().item()
            if rank == 0:
                print(f"step {step}: loss {loss.item():.4f}, right {right:.3f}, ranks differ by {apart:.1e}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
