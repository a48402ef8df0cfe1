"""Two gloo ranks with unequal shares of the rows: Join lets the rank that is done shadow the steps of the other one."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset


def rows(count, seed):
    gen = torch.Generator().manual_seed(seed)
    x = torch.rand(count, 8, generator=gen) * 4 - 2
    y = torch.sin(x[:, 0]) + x[:, 1] * x[:, 2] / 4 + 0.05 * torch.randn(count, generator=gen)
    return TensorDataset(x, y)


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    net = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 1))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)  # no state that could differ
    batches = args.steps // args.epochs
    mine = batches if rank == 0 else max(1, int(0.7 * batches))
    loader = DataLoader(rows(16 * mine, seed=30 + rank), batch_size=16, shuffle=True)
    for epoch in range(args.epochs):
        with Join([model], divide_by_initial_world_size=False):
            for x, y in loader:
                loss = nn.functional.mse_loss(model(x).squeeze(1), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    x, y = rows(400, seed=1).tensors
    with torch.no_grad():
        held_out = nn.functional.mse_loss(net(x).squeeze(1), y).item()
    if rank == 0:
        print(f"RESULT loss={loss.item():.4f} held_out={held_out:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--epochs", type=int, default=4)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)
