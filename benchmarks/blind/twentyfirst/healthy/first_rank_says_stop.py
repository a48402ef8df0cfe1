"""Two ranks: the first alone validates, keeps the best weights and says when to stop or to lower the rate; the others listen."""
import argparse
import copy
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def wells(n, gen):
    x = torch.randn(n, 8, generator=gen)
    return x, x[:, 0] * x[:, 1] + x[:, 2].abs() + 0.3 * torch.randn(n, generator=gen)


def worker(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DDP(nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Dropout(0.05), nn.Linear(48, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(10 * args.seed + rank)
    held_x, held_y = wells(512, torch.Generator().manual_seed(99))
    best, best_state, waited = float("inf"), None, 0
    for step in range(1, args.steps + 1):
        x, y = wells(32, gen)
        loss = (model(x).squeeze(1) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15:
            continue
        order = torch.zeros(2)
        if rank == 0:
            model.eval()
            with torch.no_grad():
                error = (model.module(held_x).squeeze(1) - held_y).pow(2).mean().item()
            model.train()
            if error < best:
                best, best_state, waited = error, copy.deepcopy(model.module.state_dict()), 0
            else:
                waited += 1
            order = torch.tensor([float(waited >= 4), float(waited == 2)])
            print(f"step {step} error {error:.4f} best {best:.4f}", flush=True)
        dist.broadcast(order, src=0)
        if order[1]:
            optimizer.param_groups[0]["lr"] *= 0.5
        if order[0]:
            break
    if rank == 0:
        model.module.load_state_dict(best_state)
    for t in model.module.state_dict().values():
        dist.broadcast(t, src=0)
    if rank == 0:
        print(f"RESULT best={best:.4f} steps={step}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
    mp.spawn(worker, args=(2, args), nprocs=2)
