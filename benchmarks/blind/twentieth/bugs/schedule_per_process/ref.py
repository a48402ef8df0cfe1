"""LoRA-like adapter on a frozen mixer, trained by two processes; linear decay over the run with warm-up."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import LambdaLR


class PreparedScheduler:
    """A data loader that is cut by the number of processes makes an epoch shorter, so one call advances once per process."""

    def __init__(self, scheduler, num_processes):
        self.scheduler, self.num_processes = scheduler, num_processes

    def step(self):
        for _ in range(self.num_processes):
            self.scheduler.step()

    def get_last_lr(self):
        return self.scheduler.get_last_lr()


def linear_with_warmup(optimizer, warmup, total):
    def factor(k):
        if k < warmup:
            return k / max(1, warmup)
        return max(0.0, (total - k) / max(1, total - warmup))
    return LambdaLR(optimizer, factor)


class AdaptedLinear(nn.Module):
    def __init__(self, base, rank_dim=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank_dim, bias=False)
        self.up = nn.Linear(rank_dim, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def build_model():
    return nn.Sequential(
        AdaptedLinear(nn.Linear(16, 32)), nn.GELU(),
        AdaptedLinear(nn.Linear(32, 32)), nn.GELU(),
        AdaptedLinear(nn.Linear(32, 4)),
    )


def style_batch(teacher, n, gen):
    x = torch.randn(n, 16, generator=gen)
    return x, torch.tanh(x @ teacher)


def job(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    teacher = torch.randn(16, 4) / 4
    model = DDP(build_model())
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=args.lr)
    scheduler = linear_with_warmup(optimizer, args.warmup * world, args.steps * world)
    scheduler = PreparedScheduler(scheduler, world)
    gen = torch.Generator().manual_seed(args.seed * 17 + rank)
    zero_steps = 0
    for step in range(args.steps):
        x, y = style_batch(teacher, args.batch, gen)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        lr_now = scheduler.get_last_lr()[0]
        zero_steps += lr_now == 0
        if rank == 0 and (step + 1) % 20 == 0:
            print(f"step {step + 1}/{args.steps} loss {loss.item():.4f} lr {lr_now:.2e}", flush=True)
    if rank == 0:
        print(f"EVIDENCE steps_at_zero_rate={zero_steps} of {args.steps}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    args = parser.parse_args()
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        os.environ["MASTER_PORT"] = str(sock.getsockname()[1])
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    mp.spawn(job, args=(2, args), nprocs=2)
