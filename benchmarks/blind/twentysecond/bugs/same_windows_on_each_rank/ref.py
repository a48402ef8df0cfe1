"""Two gloo ranks, two loader workers each, which cut windows out of a long recording at random places."""
import argparse
import os
import random
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

WINDOW, AHEAD, WORKERS = 24, 4, 2


def recording():
    t = torch.arange(6000, dtype=torch.float32)
    slow = torch.sin(t / 17) + 0.6 * torch.sin(t / 5.3 + torch.sin(t / 400))
    return slow + 0.1 * torch.randn(len(t), generator=torch.Generator().manual_seed(1))


class Windows(IterableDataset):
    def __init__(self, series, seed, rank, batches, size):
        self.series, self.seed, self.rank, self.batches, self.size = series, seed, rank, batches, size

    def __iter__(self):
        """Each worker of each rank has a stream of places of its own."""
        worker = get_worker_info()
        rng = random.Random(1000 * self.seed + self.rank * worker.num_workers + worker.id)
        for _ in range(self.batches):
            starts = [rng.randrange(5000 - WINDOW - AHEAD) for _ in range(self.size)]
            rows = torch.stack([self.series[s:s + WINDOW + AHEAD] for s in starts])
            yield torch.tensor(starts), rows[:, :WINDOW], rows[:, WINDOW:]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 5, padding=2)
        self.out = nn.Sequential(nn.Flatten(), nn.GELU(), nn.Linear(16 * WINDOW, AHEAD))

    def forward(self, x):
        return self.out(self.conv(x[:, None]))


def shared_places(starts):
    """Share of the places that the other rank has drawn, too."""
    mine = torch.tensor(starts)
    both = [torch.zeros_like(mine) for _ in range(2)]
    dist.all_gather(both, mine)
    first, second = (set(x.tolist()) for x in both)
    return len(first & second) / len(first)


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    series = recording()
    data = Windows(series, args.seed, rank, args.steps // WORKERS, 16)
    loader = DataLoader(data, batch_size=None, num_workers=WORKERS)
    model = DistributedDataParallel(Forecaster())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    places = []
    for step, (starts, past, future) in enumerate(loader):
        loss = F.mse_loss(model(past), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        places += starts.tolist()
        if rank == 0 and step % 20 == 19:
            print(f"step {step + 1} loss {loss.item():.4f}")
    shared = shared_places(places)
    if rank == 0:
        with torch.no_grad():
            rows = torch.stack([series[s:s + WINDOW + AHEAD] for s in range(5100, 5900, 7)])
            held_out = F.mse_loss(model.module(rows[:, :WINDOW]), rows[:, WINDOW:]).item()
        print(f"EVIDENCE shared_places={shared:.3f} distinct={len(set(places))} held_out={held_out:.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    main()
