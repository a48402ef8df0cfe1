"""fully_shard on two ranks: micro-batches without gradient sync, OneCycleLR by steps, evaluation."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from options import options

ACCUMULATE = 2


def load_data():
    from sklearn.datasets import load_wine

    raw = load_wine()
    order = torch.randperm(len(raw.target), generator=torch.Generator().manual_seed(0))
    x = torch.tensor(raw.data, dtype=torch.float32)
    x, y = ((x - x.mean(0)) / x.std(0))[order], torch.tensor(raw.target)[order]
    return TensorDataset(x[:144], y[:144]), TensorDataset(x[144:176], y[144:176])


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(13, width)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Dropout(0.1)) for _ in range(2))
        self.last = nn.Linear(width, 3)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


def evaluate(model, loader):
    model.eval()
    counts = torch.zeros(2)
    with torch.no_grad():
        for x, y in loader:
            counts += torch.tensor([(model(x).argmax(1) == y).sum().item(), len(y)])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def worker(rank, world_size, store, args):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world_size)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (world_size,))
    model = Net(args.width)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train_set, test_set = load_data()
    sampler = DistributedSampler(train_set, seed=args.seed)
    train_loader = DataLoader(train_set, batch_size=9, sampler=sampler)
    test_loader = DataLoader(test_set, batch_size=8, sampler=DistributedSampler(test_set, shuffle=False))
    per_epoch = len(train_loader) // ACCUMULATE
    epochs = max(2, args.steps // per_epoch)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=epochs * per_epoch)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        model.train()
        optimizer.zero_grad()
        for i, (x, y) in enumerate(train_loader):
            is_last = (i + 1) % ACCUMULATE == 0
            model.set_requires_gradient_sync(is_last)
            loss = F.cross_entropy(model(x), y) / ACCUMULATE
            loss.backward()
            if is_last:
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        accuracy = evaluate(model, test_loader)
        if rank == 0:
            print(f"epoch {epoch}: loss {ACCUMULATE * loss.item():.3f}, accuracy {accuracy:.3f}", flush=True)
    full = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        print(f"gathered {sum(t.numel() for t in full.values())} numbers", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, f"{folder}/store", options(lr=0.05, width=24, steps=40)), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
