"""DDP whose ranks meet at a barrier before each epoch and before each step that is timed; gradients clipped, evaluation on one rank."""

import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from options import options


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return right


def run(rank, size, store, args):
    from sklearn.datasets import load_digits

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    raw = load_digits()
    x, y = torch.tensor(raw.data[:600], dtype=torch.float32) / 16, torch.tensor(raw.target[:600])
    train, held = TensorDataset(x[:480], y[:480]), (x[480:], y[480:])
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, args.width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(args.width, 10)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sampler = DistributedSampler(train, seed=args.seed)
    loader = DataLoader(train, batch_size=40, sampler=sampler)
    seconds = 0.0
    for epoch in range(max(2, args.steps // len(loader))):
        sampler.set_epoch(epoch)
        dist.barrier()
        for step, (xb, yb) in enumerate(loader):
            optimizer.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if step % 2:  # the slowest rank is not to be a part of what is measured
                dist.barrier()
            start = time.perf_counter()
            optimizer.step()
            seconds += time.perf_counter() - start
        if rank == 0:
            print(f"epoch {epoch}: {evaluate(model.module, *held):.2f} right, {seconds:.3f} s in steps", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(run, args=(2, tmp + "/store", options(lr=3e-3, width=32, steps=36)), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
