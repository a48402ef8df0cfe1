"""Gradient accumulation over two ranks: no_sync on all micro-batches but the last of a step."""

import tempfile
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from options import options

ACCUMULATE = 3


def dataset():
    from sklearn.datasets import load_breast_cancer

    raw = load_breast_cancer()
    x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
    return TensorDataset(x, torch.tensor(raw.target))


def main(rank, store, args):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    data = dataset()
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, batch_size=12, sampler=sampler, drop_last=True)
    net = nn.Sequential(nn.Linear(30, args.width), nn.LayerNorm(args.width), nn.GELU(), nn.Linear(args.width, 2))
    model = DistributedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    per_epoch = len(loader) // ACCUMULATE
    epochs = max(2, args.steps // per_epoch)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=epochs * per_epoch)
    model.train()
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        batches = list(loader)[: per_epoch * ACCUMULATE]
        for i, (x, y) in enumerate(batches):
            boundary = (i + 1) % ACCUMULATE == 0
            with nullcontext() if boundary else model.no_sync():
                loss = criterion(model(x), y) / ACCUMULATE
                loss.backward()
            if boundary:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        mean = loss.detach() * ACCUMULATE
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch}: loss {mean.item() / 2:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(main, args=(tmp + "/store", options(lr=4e-3, width=32, steps=30)), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
