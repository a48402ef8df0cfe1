"""DDP on two ranks with a moving average of the weights, evaluated by all ranks together: predictions are gathered."""

import copy
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from options import options


def load_data():
    from sklearn.datasets import load_digits

    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    return TensorDataset(x[:1440], y[:1440]), TensorDataset(x[1440:], y[1440:])


def make_model(width):
    return nn.Sequential(
        nn.Linear(64, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, 10),
    )  # fmt: skip


@torch.no_grad()
def average(ema, model, decay):
    for mean, weight in zip(ema.parameters(), model.parameters()):
        mean.lerp_(weight, 1 - decay)
    for mean, buffer in zip(ema.buffers(), model.buffers()):
        mean.copy_(buffer)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits = torch.cat([(model(x).argmax(1) == y).float() for x, y in loader])
    gathered = [torch.empty_like(hits) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, hits)
    return torch.cat(gathered).mean().item()


def worker(rank, world_size, store, args):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world_size)
    torch.manual_seed(args.seed + rank)
    torch.set_num_threads(1)
    train_set, test_set = load_data()
    sampler = DistributedSampler(train_set, seed=args.seed)
    train_loader = DataLoader(train_set, batch_size=48, sampler=sampler, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=60, sampler=DistributedSampler(test_set, shuffle=False))
    model = DDP(make_model(args.width))
    ema = copy.deepcopy(model.module).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    for epoch in range(max(2, args.steps // len(train_loader))):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            average(ema, model.module, 0.9)
        accuracy, averaged = evaluate(model, test_loader), evaluate(ema, test_loader)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy:.3f}, averaged {averaged:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, f"{folder}/store", options(lr=5e-3, width=48, steps=45)), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
