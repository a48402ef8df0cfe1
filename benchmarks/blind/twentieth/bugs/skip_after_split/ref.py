"""Streamed air quality readings: each process reads its part of the shards, warm-up rows of a file are skipped."""
import argparse
import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

N_SHARDS, ROWS = 8, 240


def read_shard(number):
    """One part file: row id, four gas channels and the reference instrument."""
    rng = np.random.default_rng(1000 + number)
    x = rng.normal(size=(ROWS, 4)).astype(np.float32)
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=ROWS)
    for i in range(ROWS):
        yield number * ROWS + i, x[i], np.float32(y[i])


class ReadingStream(torch.utils.data.IterableDataset):
    def __init__(self, shards, rank=0, world=1, start=0):
        self.shards, self.rank, self.world, self.start = shards, rank, world, start

    def split_by_node(self, rank, world):
        return ReadingStream(self.shards, rank, world, self.start)

    def skip(self, n):
        return ReadingStream(self.shards, self.rank, self.world, self.start + n)

    def __iter__(self):
        seen = 0
        for number in self.shards[self.rank::self.world]:
            for row in read_shard(number):
                seen += 1
                if seen > self.start:
                    yield row


class Calibration(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def average_gradients(model, world):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= world


def run(rank, world, port, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = Calibration()
    for p in model.parameters():
        dist.broadcast(p.data, src=0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    shards = np.random.default_rng(args.seed).permutation(N_SHARDS).tolist()
    stream = ReadingStream(shards).split_by_node(rank, world).skip(args.warmup_rows)
    loader = torch.utils.data.DataLoader(stream, batch_size=args.batch)
    ids, step, total = [], 0, 0.0
    while step < args.steps:
        for row_id, x, y in loader:
            if step == args.steps:
                break
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            average_gradients(model, world)
            optimizer.step()
            ids.append(row_id)
            total += loss.item()
            step += 1
            if step % 30 == 0 and rank == 0:
                print(f"step {step} mse {total / 30:.4f}", flush=True)
                total = 0.0
            elif step % 30 == 0:
                total = 0.0
    mine = torch.zeros(N_SHARDS * ROWS)
    mine[torch.cat(ids)] = 1
    dist.all_reduce(mine)
    shared = int((mine > 1).sum())
    if rank == 0:
        print(f"EVIDENCE rows_read={int((mine > 0).sum())} rows_read_by_both={shared}", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--warmup-rows", type=int, default=40)
    args = parser.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(run, args=(2, port, args), nprocs=2)


if __name__ == "__main__":
    main()
