"""Demand model trained on two workers; every worker reads the files of its own stores.

DistributedDataParallel over gloo, micro-batches with gradient accumulation: the
all-reduce is postponed to the last micro-batch of each optimizer step.
"""
import argparse
import contextlib
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

WORLD = 2
STORES = 8
FEATURES = 12


def parse_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=90)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--batch", type=int, default=32)
    return ap.parse_args()


def demand(x):
    return torch.sin(1.5 * x[:, 0]) + 0.6 * x[:, 1] * x[:, 2] - 0.4 * x[:, 3].abs() + 0.3 * x[:, 4]


def make_store(store, rows, seed):
    """Rows of one store. Neighbouring stores differ in price level (x0) and footfall (x1)."""
    g = torch.Generator().manual_seed(seed * 1000 + store)
    x = torch.randn(rows, FEATURES, generator=g)
    x[:, 0] = 0.7 * x[:, 0] + (1.5 if store % 2 else -1.5)
    x[:, 1] = x[:, 1] + (0.8 if store % 2 else -0.8)
    y = demand(x) + 0.1 * torch.randn(rows, generator=g)
    return TensorDataset(x, y)


class DemandNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.inp = nn.Linear(FEATURES, width)
        self.hidden = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.relu(self.inp(x))
        h = h + torch.relu(self.hidden(self.norm(h)))
        return self.out(h).squeeze(-1)


def endless(loader):
    while True:
        yield from loader


@torch.no_grad()
def evaluate(model, datasets):
    model.eval()
    losses = []
    for ds in datasets:
        x, y = ds.tensors
        losses.append(nn.functional.mse_loss(model(x), y))
    model.train()
    return torch.stack(losses).mean().item()


def parameter_spread(model):
    """Largest difference between the two replicas, over all weights."""
    flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    copies = [torch.empty_like(flat) for _ in range(WORLD)]
    dist.all_gather(copies, flat)
    return (copies[0] - copies[1]).abs().max().item()


def worker(rank, args, rendezvous):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=WORLD)
    torch.manual_seed(args.seed)
    my_stores = range(rank, STORES, WORLD)
    train = ConcatDataset([make_store(s, 400, args.seed) for s in my_stores])
    order = torch.Generator().manual_seed(args.seed + 17 * rank)
    loader = DataLoader(train, batch_size=args.batch, shuffle=True, drop_last=True, generator=order)
    valid = [make_store(s, 200, args.seed + 500) for s in range(STORES)]

    model = DDP(DemandNet())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=args.steps)
    running = 0.0
    micro = 0
    for x, y in endless(loader):
        last = (micro + 1) % args.accum == 0
        reduce_now = (micro + 1) % args.accum == 0
        with contextlib.nullcontext() if reduce_now else model.no_sync():
            loss = nn.functional.mse_loss(model(x), y) / args.accum
            loss.backward()
        running += loss.item()
        micro += 1
        if not last:
            continue
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        step = micro // args.accum
        if rank == 0 and step % 25 == 0:
            print(f"step {step:4d} train {running / 25:.4f} lr {scheduler.get_last_lr()[0]:.2e}", flush=True)
        if step % 25 == 0:
            running = 0.0
        if step >= args.steps:
            break

    spread = parameter_spread(model)
    if rank == 0:
        val = evaluate(model.module, valid)
        print(f"EVIDENCE replica_spread={spread:.6f} val_mse={val:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    args = parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(worker, args=(args, os.path.join(tmp, "rendezvous")), nprocs=WORLD)


if __name__ == "__main__":
    main()
