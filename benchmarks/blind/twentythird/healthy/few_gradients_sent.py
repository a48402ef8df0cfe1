"""DDP that sends a tenth of each gradient and keeps the rest for later steps, by a communication hook with error feedback."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class TopKMemory:
    def __init__(self, share):
        self.share, self.left = share, {}


def top_k_hook(memory, bucket):
    """Each rank sends its largest entries; what is not sent is added to the next gradient."""
    gradient = bucket.buffer() + memory.left.get(bucket.index(), 0.0)
    keep = max(1, int(memory.share * gradient.numel()))
    picked = gradient.abs().topk(keep).indices
    sent = torch.zeros_like(gradient)
    sent[picked] = gradient[picked]
    memory.left[bucket.index()] = gradient - sent
    future = dist.all_reduce(sent, async_op=True).get_future()
    return future.then(lambda f: f.value()[0] / dist.get_world_size())


def task(gen, count=32):
    x = torch.randn(count, 16, generator=gen)
    return x, (x[:, :4].sum(1) + x[:, 4] * x[:, 5] > 0).long()


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DDP(nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 2)))
    model.register_comm_hook(TopKMemory(args.share), top_k_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed * 10 + rank)
    for step in range(args.steps):
        x, y = task(gen)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        x, y = task(torch.Generator().manual_seed(9), 500)
        with torch.no_grad():
            held_out = F.cross_entropy(model.module(x), y).item()
        print(f"RESULT loss={loss.item():.4f} held_out={held_out:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.2)
    ap.add_argument("--steps", type=int, default=150)
    ap.add_argument("--share", type=float, default=0.1)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
