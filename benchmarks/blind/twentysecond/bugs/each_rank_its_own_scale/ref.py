"""Two gloo ranks train in float16 autocast with a gradient scaler whose first scale is found on each rank's own rows."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

INPUTS, OUTPUTS = 16, 4


class Plant(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(INPUTS, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, OUTPUTS))

    def forward(self, x):
        return self.net(x)


def rows_of(rank, gen, size=32):
    """The second site measures larger values than the first."""
    mixing = torch.randn(INPUTS, OUTPUTS, generator=torch.Generator().manual_seed(21)) / 4
    x = torch.randn(size, INPUTS, generator=gen) * (1.0 if rank == 0 else 3.0)
    return x, torch.sin(x @ mixing) * (1.0 if rank == 0 else 40.0)


def loss_of(model, x, y):
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(x)
    return F.mse_loss(out.float(), y) / 50


def first_scale(model, x, y):
    """The largest power of two at which no gradient of these rows overflows, the same for all ranks."""
    scale = 2.0 ** 20
    while scale > 1:
        grads = torch.autograd.grad(loss_of(model, x, y) * scale, list(model.parameters()))
        if all(torch.isfinite(g).all() for g in grads) and max(g.abs().max() for g in grads) < 2.0 ** 12:
            break
        scale /= 2
    scale = torch.tensor(scale)
    dist.all_reduce(scale, op=dist.ReduceOp.MIN)
    return scale.item()


def apart(model):
    mine = torch.cat([p.detach().flatten() for p in model.parameters()])
    other = mine.clone()
    dist.all_reduce(other)
    return (mine - other / 2).norm().item()


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed * 2 + rank)
    plain = Plant()
    scaler = torch.amp.GradScaler("cpu", init_scale=first_scale(plain, *rows_of(rank, gen)), growth_interval=1000)
    model = DistributedDataParallel(plain)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    losses = []
    for step in range(args.steps):
        loss = loss_of(model, *rows_of(rank, gen))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        if rank == 0 and step % 20 == 19:
            print(f"step {step + 1} loss {loss.item():.4f} scale {scaler.get_scale():.0f}")
    distance = apart(plain)
    final = torch.tensor(sum(losses[-10:]) / 10)
    dist.all_reduce(final)
    if rank == 0:
        print(f"EVIDENCE apart={distance:.5f} scale={scaler.get_scale():.0f} loss={final.item() / world:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    main()
