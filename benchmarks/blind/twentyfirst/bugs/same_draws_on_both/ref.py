"""Two ranks train a regression of bridge loads; gradients are clipped by their global norm after DDP has averaged them."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset


def bridge_loads(n=1024):
    g = torch.Generator().manual_seed(17)
    x = torch.randn(n, 10, generator=g)
    y = 4 * torch.tanh(x[:, 0] * x[:, 1]) + x[:, 2].abs() + x[:, 3:6].sum(1) + 0.2 * torch.randn(n, generator=g)
    return TensorDataset(x, y)


def make_sampler(dataset, rank, world, seed):
    """The seed is the same on all ranks, so that the shards are parts of one permutation."""
    return DistributedSampler(dataset, num_replicas=world, rank=rank, shuffle=True, seed=seed, drop_last=True)


def global_norm(parameters, group=None):
    total = torch.stack([p.grad.pow(2).sum() for p in parameters]).sum()
    if group is not None:
        dist.all_reduce(total, group=group)
    return total.sqrt()


def clip_gradients(model, max_norm, group):
    """With gradients in shards the norms of the group belong together; DDP holds whole gradients everywhere."""
    parameters = list(model.parameters())
    sharded = not isinstance(model, DDP)
    norm = global_norm(parameters, group if sharded else None)
    scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for p in parameters:
        p.grad.mul_(scale)
    return norm.item()


def worker(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DDP(nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    dataset = bridge_loads()
    sampler = make_sampler(dataset, rank, world, args.seed)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler, drop_last=True)
    done, epoch, norms, clipped = 0, 0, [], []
    seen = torch.zeros(len(dataset))
    while done < args.steps:
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)
        if epoch == 0:
            order = list(iter(sampler))
            seen[order[: 32 * 16]] += 1
        for x, y in loader:
            loss = (model(x).squeeze(1) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            norms.append(clip_gradients(model, 1.0, dist.group.WORLD))
            clipped.append(global_norm(list(model.parameters())).item())
            optimizer.step()
            done += 1
        epoch += 1
        if rank == 0 and epoch % 3 == 0:
            print(f"epoch {epoch} loss {loss.item():.4f} norm {norms[-1]:.3f}", flush=True)
    dist.all_reduce(seen)
    if rank == 0:
        print(f"EVIDENCE covered_in_first_pass={(seen > 0).float().mean():.4f} norm_after_clipping={max(clipped):.4f}"
              f" loss={loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--steps", type=int, default=190)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
    mp.spawn(worker, args=(2, args), nprocs=2)
