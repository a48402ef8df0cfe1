"""Uneven shards under Join: one rank has more batches than the other, the one that is done shadows the collectives."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP


def flights(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 6, generator=g)
    delay = 30 * torch.relu(x[:, 0] - 0.5) + 10 * x[:, 1] * x[:, 2] + torch.randn(n, generator=g)
    return x, delay / 10


class DelayNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(6, 40), nn.Linear(40, 40), nn.Linear(40, 1)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x))))).squeeze(1)


def worker(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DDP(DelayNet())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    x, y = flights(320 + 96 * rank, 10 + rank)
    per_epoch = len(x) // 32
    epochs = max(1, args.steps // 10)
    done = 0
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(args.seed + epoch))
        with Join([model]):
            for b in range(per_epoch):
                idx = order[b * 32:(b + 1) * 32]
                loss = nn.functional.mse_loss(model(x[idx]), y[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                done += 1
        # the rank that joined first took fewer optimizer steps: take over the weights of the last one
        for t in model.module.state_dict().values():
            dist.broadcast(t, src=world - 1)
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)
    counts = torch.tensor([float(done)])
    dist.all_reduce(counts)
    if rank == 0:
        print(f"RESULT batches rank0={done} all={int(counts.item())} loss={loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
    mp.spawn(worker, args=(2, args), nprocs=2)
