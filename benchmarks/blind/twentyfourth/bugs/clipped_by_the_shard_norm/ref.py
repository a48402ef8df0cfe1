"""Regression under fully_shard on two gloo ranks; gradients of the shards are clipped by hand."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

DIM = 20


class Network(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(DIM, width), nn.Linear(width, width)])
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


@torch.no_grad()
def clip_gradients(parameters, max_norm):
    """Scales all gradients by one factor, so that their norm over the whole model is at most max_norm."""
    local = [p.grad.to_local() for p in parameters]
    square = torch.stack([g.pow(2).sum() for g in local]).sum()
    dist.all_reduce(square)
    norm = square.sqrt()
    factor = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    for grad in local:
        grad.mul_(factor)
    return norm


def batch(gen, n=32):
    """Two targets: a large one, and a small one whose half of the head sits on the second rank."""
    x = torch.randn(n, DIM, generator=gen)
    large = 20 * (x[:, 0] * x[:, 1] + x[:, 2])
    small = 2 * torch.sin(2 * x[:, 3]) + x[:, 4]
    return x, torch.stack([large, small], 1)


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = Network()
    mesh = init_device_mesh("cpu", (world,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    gen = torch.Generator().manual_seed(args.seed * 17 + rank)
    ratio, after = 0.0, 0.0
    for step in range(args.steps):
        x, y = batch(gen)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norm = clip_gradients(list(model.parameters()), max_norm=1.0)
        clipped = torch.stack([p.grad.full_tensor().pow(2).sum() for p in model.parameters()]).sum().sqrt()
        after += clipped.item() / args.steps
        both = torch.stack([norm, -norm])
        dist.all_reduce(both, op=dist.ReduceOp.MAX)
        ratio += (both[0] / -both[1]).item() / args.steps
        optimizer.step()
        if rank == 0 and (step + 1) % 20 == 0:
            print(f"step {step + 1} loss {loss.item():.4f} norm {norm.item():.4f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE norm_of_one_rank_to_other={ratio:.4f} norm_after_clipping={after:.4f}", flush=True)
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
