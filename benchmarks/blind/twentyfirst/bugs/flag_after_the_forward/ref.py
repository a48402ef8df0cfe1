"""Two ranks learn to spot stutters in speech frames; gradients are added up over micro-batches and exchanged at the last one."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


class Spotter(nn.Module):
    def __init__(self, channels=24):
        super().__init__()
        self.conv1 = nn.Conv1d(4, channels, 5, padding=2)
        self.conv2 = nn.Conv1d(channels, channels, 5, padding=2)
        self.out = nn.Linear(channels, 2)

    def forward(self, frames):
        h = F.relu(self.conv2(F.relu(self.conv1(frames))))
        return self.out(h.mean(-1))


def clips(n, gen):
    frames = torch.randn(n, 4, 32, generator=gen)
    stutter = torch.rand(n, generator=gen) < 0.5
    frames[stutter, :, 12:20] = frames[stutter, :, 4:12] + 0.3 * torch.randn(int(stutter.sum()), 4, 8, generator=gen)
    frames[:, 0] += stutter.float()[:, None] * 0.35
    return frames, stutter.long()


def micro_step(model, frames, labels, accumulate, last):
    model.require_backward_grad_sync = last
    loss = F.cross_entropy(model(frames), labels) / accumulate
    loss.backward()
    return loss.item() * accumulate


def spread(module):
    """Largest distance between the weights of the two ranks."""
    flat = torch.cat([p.detach().flatten() for p in module.parameters()])
    both = [torch.empty_like(flat) for _ in range(dist.get_world_size())]
    dist.all_gather(both, flat)
    return (both[0] - both[1]).abs().max().item()


def worker(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(100 * args.seed + rank)
    model = DistributedDataParallel(Spotter())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        optimizer.zero_grad()
        for micro in range(args.accumulate):
            frames, labels = clips(16, gen)
            loss = micro_step(model, frames, labels, args.accumulate, micro == args.accumulate - 1)
        optimizer.step()
        if rank == 0 and step % 20 == 0:
            print(f"step {step} loss {loss:.4f}", flush=True)
    apart = spread(model.module)
    if rank == 0:
        print(f"EVIDENCE ranks_apart={apart:.6f} loss={loss:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--accumulate", type=int, default=3)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
    mp.spawn(worker, args=(2, args), nprocs=2)
