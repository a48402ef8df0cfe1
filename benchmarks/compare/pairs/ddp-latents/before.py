"""Flow-matching training on synthetic latents with two data-parallel ranks."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

WORLD_SIZE = 2
DIM = 16


class VelocityNet(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.inp = nn.Linear(DIM, hidden)
        self.mid = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(3))
        self.norm = nn.LayerNorm(hidden)
        self.out = nn.Linear(hidden, DIM)

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)
        for layer in self.mid:
            h = h + F.silu(layer(h))
        return self.out(self.norm(h))


def make_latents(n, seed):
    gen = torch.Generator().manual_seed(seed + 77)
    centres = torch.randn(8, DIM, generator=gen) * 2
    which = torch.randint(0, 8, (n,), generator=gen)
    return centres[which] + 0.2 * torch.randn(n, DIM, generator=gen)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def train(rank, port, args):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD_SIZE)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    model = DistributedDataParallel(VelocityNet())
    latents = make_latents(2048, args.seed)[rank::WORLD_SIZE]
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(
        optimizer, start_factor=1.0, end_factor=0.02, total_iters=args.steps
    )
    gen = torch.Generator().manual_seed(args.seed * WORLD_SIZE + rank)

    for step in range(args.steps):
        idx = torch.randint(0, len(latents), (64,), generator=gen)
        x1 = latents[idx]
        x0 = torch.randn(64, DIM, generator=gen)
        t = torch.rand(64, 1, generator=gen)
        pred = model((1 - t) * x0 + t * x1, t)
        loss = F.mse_loss(pred, x1 - x0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 30 == 0 or step == args.steps - 1:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item() / WORLD_SIZE:.6f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    mp.spawn(train, args=(free_port(), args), nprocs=WORLD_SIZE)


if __name__ == "__main__":
    main()
