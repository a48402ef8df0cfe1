"""DDP on two gloo ranks: distributed sampler, accumulation with no_sync, dropout, a plateau on the reduced validation loss."""
import argparse
import contextlib
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def reduced(*values):
    t = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(t)
    return t.tolist()


def build_data(seed):
    """Ten noisy prototypes in 64 dimensions, each with two variants."""
    gen = torch.Generator().manual_seed(seed)
    prototypes = torch.randn(20, 64, generator=gen)
    kind = torch.randint(20, (1800,), generator=gen)
    x, y = prototypes[kind] + 1.6 * torch.randn(1800, 64, generator=gen), kind // 2
    return TensorDataset(x[:1300], y[:1300]), TensorDataset(x[1300:], y[1300:])


def worker(rank, world, port, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    model = DDP(net)
    torch.manual_seed(args.seed * 100 + rank)       # noise and dropout differ between the ranks
    train, valid = build_data(args.seed)
    sampler = DistributedSampler(train, seed=args.seed, shuffle=True)
    loader = DataLoader(train, batch_size=20, sampler=sampler)
    part = torch.arange(rank, len(valid), world)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=1)
    for epoch in range(args.steps):
        sampler.set_epoch(epoch)
        model.train()
        total = 0.0
        optimizer.zero_grad()
        for i, (x, y) in enumerate(loader):
            first = i // args.accum * args.accum
            window = min(args.accum, len(loader) - first)
            last = i == first + window - 1
            if torch.rand(()) < 0.5:
                x = x + 0.15 * torch.randn_like(x)
            with contextlib.nullcontext() if last else model.no_sync():
                loss = nn.functional.cross_entropy(model(x), y)
                (loss / window).backward()
            total += loss.item()
            if last:
                nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            x, y = valid.tensors[0][part], valid.tensors[1][part]
            logits = net(x)
            right = (logits.argmax(1) == y).sum().item()
            sums = reduced(nn.functional.cross_entropy(logits, y, reduction="sum").item(), right, len(y), total, len(loader))
        scheduler.step(sums[0] / sums[2])
        if rank == 0:
            print(f"epoch {epoch}: train {sums[3] / sums[4]:.4f}, valid {sums[0] / sums[2]:.4f}, "
                  f"accuracy {sums[1] / sums[2]:.4f}, lr {optimizer.param_groups[0]['lr']:.2g}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=4, help="epochs")
    parser.add_argument("--accum", type=int, default=2)
    args = parser.parse_args()
    mp.spawn(worker, args=(2, free_port(), args), nprocs=2)
# SPDX-License-Identifier: Apache-2.0
