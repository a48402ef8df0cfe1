"""Two noisy views of the same digit shall be near each other, and far from all others.

Each image is compared with those of the whole batch, so the ranks share their outputs.
"""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, DistributedSampler

BATCH, IMAGES, HEAT = 32, 256, 0.2


class TwinViews(Dataset):
    def __init__(self, seed):
        from sklearn.datasets import load_digits

        self.images = torch.tensor(load_digits().images[:IMAGES], dtype=torch.float32) / 16
        self.seed, self.epoch = seed, 0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        # The noise depends on the row and the epoch only, whichever rank reads the row.
        g = torch.Generator().manual_seed((self.seed * 1000 + self.epoch) * 10000 + i)
        image = self.images[i].flatten()
        views = [image * (torch.rand(64, generator=g) > 0.2)
                 + 0.1 * torch.randn(64, generator=g) for _ in range(2)]
        return views[0], views[1]


def gather_rows(mine, rank, ranks):
    """All ranks' rows; only those of this rank carry a gradient."""
    if ranks == 1:
        return mine
    everyone = [torch.empty_like(mine) for _ in range(ranks)]
    dist.all_gather(everyone, mine.detach().contiguous())
    everyone[rank] = mine
    return torch.cat(everyone)


def twin_loss(a, b):
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    likeness = a @ b.t() / HEAT
    match = torch.arange(len(a))
    return (F.cross_entropy(likeness, match) + F.cross_entropy(likeness.t(), match)) / 2


def run(rank, ranks, port, args):
    torch.set_num_threads(1)
    if ranks > 1:
        os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                           "RANK": str(rank), "WORLD_SIZE": str(ranks)})
        dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(64, 48), nn.LayerNorm(48), nn.ReLU(), nn.Linear(48, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
    data = TwinViews(args.seed)
    sampler = DistributedSampler(data, ranks, rank, seed=args.seed)
    loader = DataLoader(data, BATCH // ranks, sampler=sampler)

    step = 0
    for epoch in range(args.steps):
        sampler.set_epoch(epoch)
        data.epoch = epoch
        for first, second in loader:
            if step == args.steps:
                break
            a = gather_rows(model(first), rank, ranks)
            b = gather_rows(model(second), rank, ranks)
            loss = twin_loss(a, b)
            optimizer.zero_grad()
            loss.backward()
            if ranks > 1:
                # The loss is already that of the whole batch and each rank holds the share
                # of the gradient that comes through its own rows: the shares add up.
                for p in model.parameters():
                    dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
            optimizer.step()
            scheduler.step()
            shown = loss.detach().clone()
            if ranks > 1:
                dist.all_reduce(shown)
                shown /= ranks
            if rank == 0:
                print("step %d loss %.8f" % (step, shown.item()))
            step += 1
        if step == args.steps:
            break

    if rank == 0:
        norm = sum(p.detach().pow(2).sum().item() for p in model.parameters()) ** 0.5
        print("weights norm %.8f" % norm)
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    if args.ranks == 1:
        run(0, 1, None, args)
    else:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            free = s.getsockname()[1]
        mp.spawn(run, args=(args.ranks, free, args), nprocs=args.ranks)
