"""Music genre tags from spectral features: a class balanced sampler is wrapped so that each rank takes its part."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, Sampler


class Tracks(Dataset):
    def __init__(self, n=480, genres=6):
        g = torch.Generator().manual_seed(12)
        weights = torch.tensor([8.0, 4.0, 2.0, 1.0, 1.0, 1.0])
        self.genre = torch.multinomial(weights, n, replacement=True, generator=g)
        centre = torch.randn(genres, 20, generator=g)
        self.mfcc = centre[self.genre] + 0.9 * torch.randn(n, 20, generator=g)

    def __len__(self):
        return len(self.genre)

    def __getitem__(self, i):
        return self.mfcc[i], self.genre[i], i


class BalancedSampler(Sampler):
    """Draws with replacement, rare genres as often as frequent ones; the draw depends on seed and epoch."""

    def __init__(self, genre, seed):
        self.weight = 1.0 / torch.bincount(genre).float()[genre]
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return len(self.weight)

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed * 1009 + self.epoch)
        yield from torch.multinomial(self.weight, len(self), replacement=True, generator=g).tolist()


class DistributedSamplerWrapper(Sampler):
    def __init__(self, sampler, rank, num_replicas):
        self.sampler, self.rank, self.num_replicas = sampler, rank, num_replicas
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch
        self.sampler.set_epoch(epoch)

    def __len__(self):
        return len(self.sampler) // self.num_replicas

    def __iter__(self):
        picked = list(self.sampler)[self.rank::self.num_replicas]
        order = torch.randperm(len(picked), generator=torch.Generator().manual_seed(self.epoch)).tolist()
        return iter([picked[i] for i in order])


def fit(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    tracks = Tracks()
    sampler = DistributedSamplerWrapper(BalancedSampler(tracks.genre, args.seed), rank, world)
    loader = DataLoader(tracks, batch_size=24, sampler=sampler)
    model = DDP(nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 6)))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()
    seen, step, epoch = torch.zeros(len(tracks)), 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        running, batches = 0.0, 0
        for mfcc, genre, index in loader:
            loss = criterion(model(mfcc), genre)
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen[index] = 1
            running, batches, step = running + loss.item(), batches + 1, step + 1
        if rank == 0:
            print(f"epoch {epoch} loss {running / batches:.4f}", flush=True)
        epoch += 1
    dist.all_reduce(seen, op=dist.ReduceOp.MAX)
    if rank == 0:
        print(f"EVIDENCE tracks_seen={seen.mean().item():.3f} after {epoch} epochs", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=80)
    args = p.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
    mp.spawn(fit, args=(2, args), nprocs=2)
