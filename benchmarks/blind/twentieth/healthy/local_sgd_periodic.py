"""Local SGD: two sites train on their own patients and average the weights every few steps; between them the replicas differ."""
import argparse
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn


def patients(site, n=400):
    g = torch.Generator().manual_seed(60 + site)
    x = torch.randn(n, 10, generator=g) + 0.3 * site
    risk = x[:, 0] - 0.8 * x[:, 1] + 0.5 * x[:, 2] * x[:, 3]
    y = (risk + 0.4 * torch.randn(n, generator=g) > 0.1).float()
    return x, y


def make_model():
    return nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))


@torch.no_grad()
def average_weights(model, world):
    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data /= world


@torch.no_grad()
def spread(model):
    flat = torch.cat([p.flatten() for p in model.parameters()])
    hi, lo = flat.clone(), flat.clone()
    dist.all_reduce(hi, op=dist.ReduceOp.MAX)
    dist.all_reduce(lo, op=dist.ReduceOp.MIN)
    return (hi - lo).max().item()


def site_process(rank, world, port, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = make_model()
    average_weights(model, world)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    x, y = patients(rank)
    gen = torch.Generator().manual_seed(args.seed * 2 + rank)
    for step in range(1, args.steps + 1):
        idx = torch.randint(0, len(x), (32,), generator=gen)
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[idx]).squeeze(1), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % args.sync_every == 0 or step == args.steps:
            apart = spread(model)
            average_weights(model, world)
            if rank == 0 and step % 40 == 0:
                print(f"step {step} loss {loss.item():.4f} apart before sync {apart:.4f}", flush=True)
    final = spread(model)
    if rank == 0:
        print(f"RESULT spread={final:.6f} loss={loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--sync-every", type=int, default=8)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(site_process, args=(2, port, args), nprocs=2)
