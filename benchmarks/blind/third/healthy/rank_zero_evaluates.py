"""Two ranks train; rank zero validates on the bare module, keeps the best weights and tells the other when to stop."""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        loss = nn.functional.cross_entropy(model(x), y)
    model.train()
    return loss.item()


def main(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x = torch.randn(320, 10)
    y = (x @ torch.randn(10, 3)).argmax(1)
    sampler = DistributedSampler(TensorDataset(x[:256], y[:256]), seed=args.seed)
    loader = DataLoader(sampler.dataset, batch_size=16, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3)))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    torch.manual_seed(args.seed + rank)
    best, bad, stop = float("inf"), 0, torch.zeros(1)
    for epoch in range(args.steps // len(loader)):
        sampler.set_epoch(epoch)
        for a, b in loader:
            loss = nn.functional.cross_entropy(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            score = evaluate(model.module, x[256:], y[256:])
            if score < best - 0.01:
                best, bad = score, 0
                torch.save(model.module.state_dict(), os.path.join(folder, "best.pt"))
            else:
                bad += 1
            stop.fill_(float(bad >= 2))
        dist.broadcast(stop, 0)
        if stop.item():
            break
    dist.barrier()
    model.module.load_state_dict(torch.load(os.path.join(folder, "best.pt")))
    if rank == 0:
        print(f"best {best:.3f}, loaded {evaluate(model.module, x[256:], y[256:]):.3f}, {epoch + 1} epochs", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder,), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
