"""Matrix factorisation of a small rating table; one sample is one user, split over two ranks with DistributedSampler."""
import argparse
import math
import os
import random
import tempfile

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

USERS, ITEMS, FACTORS = 1200, 60, 6


class Ratings(Dataset):
    def __init__(self, seed=7):
        g = torch.Generator().manual_seed(seed)
        u = torch.randn(USERS, FACTORS, generator=g)
        v = torch.randn(ITEMS, FACTORS, generator=g)
        self.table = u @ v.T / math.sqrt(FACTORS) + 0.1 * torch.randn(USERS, ITEMS, generator=g)
        self.observed = torch.rand(USERS, ITEMS, generator=g) < 0.7

    def __len__(self):
        return USERS

    def __getitem__(self, user):
        return user, self.table[user], self.observed[user]


class Factorization(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.user = nn.Embedding(USERS, dim)
        self.item = nn.Linear(dim, ITEMS)
        nn.init.normal_(self.user.weight, std=0.3)

    @torch.no_grad()
    def warm_start_items(self, table, observed):
        filled = table * observed / observed.float().mean()
        basis = torch.linalg.svd(filled, full_matrices=False).Vh
        dim = self.item.in_features
        self.item.weight.copy_(basis[:dim].T * math.sqrt(dim))

    def forward(self, user):
        return self.item(self.user(user))


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def sync_gradients(model, world):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad.div_(world)


def masked_mse(pred, target, keep):
    return ((pred - target) ** 2 * keep).sum() / keep.sum()


def train_epoch(model, loader, optimizer, world, budget):
    done, last = 0, 0.0
    for user, rating, keep in loader:
        if done == budget:
            break
        loss = masked_mse(model(user), rating, keep)
        optimizer.zero_grad()
        loss.backward()
        sync_gradients(model, world)
        optimizer.step()
        done, last = done + 1, loss.item()
    return done, last


@torch.no_grad()
def held_out_rmse(model, data):
    hidden = ~data.observed
    sq = (model(torch.arange(USERS)) - data.table) ** 2 * hidden
    per_user = (sq.sum(1) / hidden.sum(1).clamp(min=1)).sqrt()
    return (sq.sum() / hidden.sum()).sqrt().item(), per_user.quantile(0.9).item()


def worker(rank, world, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    seed_all(args.seed)
    data = Ratings()
    model = Factorization()
    model.warm_start_items(data.table, data.observed)
    for p in model.parameters():
        dist.broadcast(p.data, src=0)
    seed_all(args.seed + 1000 * rank)

    sampler = DistributedSampler(data, world, rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch, sampler=sampler)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=args.lr)
    step, epoch = 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        done, last = train_epoch(model, loader, optimizer, world, args.steps - step)
        step, epoch = step + done, epoch + 1
        if rank == 0:
            print(f"epoch {epoch} step {step} loss {last:.4f}", flush=True)
    if rank == 0:
        rmse, worst = held_out_rmse(model, data)
        print(f"EVIDENCE held_out_rmse={rmse:.4f} user_rmse_p90={worst:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.3)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--batch", type=int, default=60)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(worker, args=(2, args, os.path.join(tmp, "init")), nprocs=2)


if __name__ == "__main__":
    main()
