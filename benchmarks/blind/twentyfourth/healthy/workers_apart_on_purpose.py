"""Local SGD on two gloo ranks: weights differ between meetings, every fifth step they are averaged; momentum stays local."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn

DIM = 12


def batch(rank, gen, n=32):
    """Each worker has data of its own kind."""
    x = torch.randn(n, DIM, generator=gen) + 0.5 * (rank * 2 - 1)
    return x, torch.tanh(x[:, 0] + x[:, 1]) + 0.3 * x[:, 2] ** 2


@torch.no_grad()
def meet(model, world):
    for p in model.parameters():
        dist.all_reduce(p)
        p.div_(world)


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed + rank)
    model = nn.Sequential(nn.Linear(DIM, 48), nn.Tanh(), nn.Linear(48, 1))
    for p in model.parameters():
        dist.broadcast(p.data, src=0)        # seeds differ, so the first weights come from rank 0
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.8)
    gen = torch.Generator().manual_seed(args.seed * 12 + rank)
    for step in range(args.steps):
        x, y = batch(rank, gen)
        loss = F.mse_loss(model(x).squeeze(-1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 5 == 0:
            meet(model, world)
            if rank == 0:
                print(f"step {step + 1} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
