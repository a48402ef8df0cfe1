"""DDP with gradient accumulation: each rank reads its own shard of the digits, no_sync on the inner micro-batches."""
import argparse
import contextlib
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class ConvNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, x):
        return self.fc(self.features(x))


def load_shard(rank, world, seed):
    """The archive is written class by class; every rank opens the part files that belong to it."""
    from sklearn.datasets import load_digits
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    shuffle = np.random.default_rng(0).permutation(len(x))
    train_idx, test_idx = shuffle[:1250], shuffle[1250:]
    x_tr, y_tr, x_te, y_te = x[train_idx], y[train_idx], x[test_idx], y[test_idx]
    order = np.argsort(y_tr, kind="stable")
    parts = np.array_split(order, 2 * world)
    mine = np.concatenate([parts[i] for i in range(len(parts)) if i // 2 == rank])
    mine = mine[np.random.default_rng(seed).permutation(len(mine))]
    to = torch.as_tensor
    return (to(x_tr[mine]), to(y_tr[mine])), (to(x_te), to(y_te))


class MicroBatches:
    def __init__(self, x, y, batch, seed):
        self.x, self.y, self.batch = x, y, batch
        self.g = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            idx = torch.randint(0, len(self.x), (self.batch,), generator=self.g)
            yield self.x[idx], self.y[idx]


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def train(rank, world, args, port):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    (x, y), (x_te, y_te) = load_shard(rank, world, args.seed)
    loader = iter(MicroBatches(x, y, args.batch, args.seed * 10 + rank))

    model = DDP(ConvNet())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    running = 0.0
    for batch_idx in range(args.steps * args.accum):
        xb, yb = next(loader)
        at_boundary = (batch_idx + 1) % args.accum == 0
        context = contextlib.nullcontext() if at_boundary else model.no_sync()
        with context:
            loss = F.cross_entropy(model(xb), yb) / args.accum
            loss.backward()
        running += loss.item()
        if (batch_idx + 1) % args.accum == 0:
            optimizer.step()
            optimizer.zero_grad()
            step = (batch_idx + 1) // args.accum
            if step % 20 == 0 and rank == 0:
                print(f"step {step} loss {running / 20:.4f}", flush=True)
            if step % 20 == 0:
                running = 0.0
    if rank == 0:
        print(f"EVIDENCE test_accuracy={accuracy(model.module, x_te, y_te):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--steps", type=int, default=70)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--accum", type=int, default=4)
    args = p.parse_args()
    mp.spawn(train, args=(2, args, free_port()), nprocs=2)


if __name__ == "__main__":
    main()
