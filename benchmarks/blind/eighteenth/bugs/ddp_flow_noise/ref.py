"""Flow matching on digit images, two gloo ranks with DistributedDataParallel."""
import argparse
import math
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

WORLD_SIZE = 2


class Velocity(nn.Module):
    def __init__(self, dim=64, hidden=256, n_freq=16):
        super().__init__()
        self.register_buffer("freqs", torch.exp(torch.linspace(0, math.log(100.0), n_freq)))
        self.inp = nn.Linear(dim + 2 * n_freq, hidden)
        self.mid = nn.Linear(hidden + 2 * n_freq, hidden)
        self.out = nn.Linear(hidden, dim)
        self.act = nn.SiLU()

    def forward(self, x, t):
        angles = t[:, None] * self.freqs
        emb = torch.cat([angles.sin(), angles.cos()], dim=-1)
        h = self.act(self.inp(torch.cat([x, emb], dim=-1)))
        h = h + self.act(self.mid(torch.cat([h, emb], dim=-1)))
        return self.out(h)


def set_seed(seed):
    torch.manual_seed(seed)


def flow_matching_loss(model, x1):
    x0 = torch.randn_like(x1)
    t = torch.rand(x1.shape[0])
    xt = (1 - t[:, None]) * x0 + t[:, None] * x1
    return (model(xt, t) - (x1 - x0)).pow(2).mean()


@torch.no_grad()
def held_out_loss(model, x1, repeats=8):
    """The loss on a fixed set of noises and times."""
    g = torch.Generator().manual_seed(99)
    total = 0.0
    for _ in range(repeats):
        x0 = torch.randn(x1.shape, generator=g)
        t = torch.rand(x1.shape[0], generator=g)
        xt = (1 - t[:, None]) * x0 + t[:, None] * x1
        total += (model(xt, t) - (x1 - x0)).pow(2).mean().item()
    return total / repeats


def load_images():
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 8.0 - 1.0
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(7))
    return x[order[:1400]], x[order[1400:]]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def worker(rank, args, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD_SIZE)
    set_seed(args.seed + rank)

    train, test = load_images()
    dataset = TensorDataset(train)
    sampler = DistributedSampler(dataset, num_replicas=WORLD_SIZE, rank=rank, seed=args.seed)
    loader = DataLoader(dataset, batch_size=8, sampler=sampler, drop_last=True)
    model = DDP(Velocity())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)

    step, epoch = 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        for (x1,) in loader:
            loss = flow_matching_loss(model, x1)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            if step % 20 == 0:
                mean = loss.detach().clone()
                dist.all_reduce(mean)
                if rank == 0:
                    print(f"step {step} loss {mean.item() / WORLD_SIZE:.4f}", flush=True)
            if step >= args.steps:
                break
        epoch += 1

    if rank == 0:
        print(f"EVIDENCE held_out_loss {held_out_loss(model.module, test):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    mp.start_processes(worker, args=(args, free_port()), nprocs=WORLD_SIZE, join=True,
                       start_method="fork")


if __name__ == "__main__":
    main()
