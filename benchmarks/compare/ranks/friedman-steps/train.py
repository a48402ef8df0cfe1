"""A residual network fits Friedman's first test function, with a slow start."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

ROWS, BATCH = 320, 32
WARMUP = 8


class Friedman(Dataset):
    def __init__(self):
        from sklearn.datasets import make_friedman1

        x, y = make_friedman1(ROWS, n_features=8, noise=0.3, random_state=12)
        self.x = torch.tensor(x, dtype=torch.float32) * 2 - 1
        self.y = torch.tensor((y - y.mean()) / y.std(), dtype=torch.float32)

    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        return {"x": self.x[i], "y": self.y[i]}


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ELU(),
                                   nn.Linear(width, width))

    def forward(self, x):
        return x + self.inner(x)


def build():
    return nn.Sequential(nn.Linear(8, 24), Layer(24), Layer(24), nn.Linear(24, 1), nn.Flatten(0))


def rate_factor(world):
    def factor(step):
        return 1.0 + (world - 1.0) * min(1.0, step / WARMUP)
    return factor


def train(rank, world, port, args):
    torch.set_num_threads(1)
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(world)
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    data = Friedman()
    model = DistributedDataParallel(build())
    sampler = DistributedSampler(data, seed=args.seed, drop_last=True)
    loader = DataLoader(data, BATCH // world, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate_factor(world))
    huber = nn.HuberLoss(delta=1.5)

    step, epoch = 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        for rows in loader:
            loss = huber(model(rows["x"]), rows["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            shown = loss.detach().clone()
            dist.all_reduce(shown)
            if rank == 0:
                print(f"step {step} loss {shown.item() / world:.8f}")
            step += 1
            if step == args.steps:
                break
        epoch += 1

    if rank == 0:
        norm = nn.utils.parameters_to_vector(model.parameters()).norm()
        print(f"weights norm {norm.item():.8f}")
    dist.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    if args.ranks == 1:
        train(0, 1, free_port(), args)
    else:
        mp.spawn(train, args=(args.ranks, free_port(), args), nprocs=args.ranks)
