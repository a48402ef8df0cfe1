"""Flow matching on the 8x8 digits, data parallel on two gloo processes."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

WORLD_SIZE = 2


class VelocityNet(nn.Module):
    def __init__(self, dim=64, width=192):
        super().__init__()
        self.register_buffer("freqs", torch.exp(torch.linspace(0.0, 4.0, 8)))
        self.net = nn.Sequential(
            nn.Linear(dim + 16, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, dim))

    def forward(self, x, t):
        ang = t[:, None] * self.freqs
        return self.net(torch.cat([x, ang.sin(), ang.cos()], 1))


def load_data():
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 8.0 - 1.0
    return x[:1500], x[1500:]


def flow_matching_loss(model, x1, generator=None):
    noise = torch.randn(x1.shape, generator=generator)
    t = torch.rand(x1.size(0), generator=generator)
    xt = (1.0 - t[:, None]) * noise + t[:, None] * x1
    return F.mse_loss(model(xt, t), x1 - noise)


@torch.no_grad()
def validate(model, x):
    gen = torch.Generator().manual_seed(1234)
    return sum(flow_matching_loss(model, x, gen).item() for _ in range(16)) / 16


def worker(rank, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=WORLD_SIZE)
    torch.manual_seed(args.seed + rank)

    train_x, val_x = load_data()
    dataset = TensorDataset(train_x)
    sampler = DistributedSampler(dataset, num_replicas=WORLD_SIZE, rank=rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler, drop_last=True)

    model = DDP(VelocityNet())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)

    step, epoch = 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        for (x1,) in loader:
            loss = flow_matching_loss(model, x1)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            if step % 20 == 0:
                mean = loss.detach().clone()
                dist.all_reduce(mean)
                if rank == 0:
                    print(f"step {step:4d} loss {mean.item() / WORLD_SIZE:.4f}", flush=True)
            step += 1
            if step == args.steps:
                break
        epoch += 1

    if rank == 0:
        print(f"EVIDENCE val_fm_loss={validate(model.module, val_x):.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch-size", type=int, default=8)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.start_processes(worker, args=(args, os.path.join(tmp, "rendezvous")), nprocs=WORLD_SIZE, start_method="fork")


if __name__ == "__main__":
    main()
