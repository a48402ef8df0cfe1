"""Pairs of views are contrasted on two ranks: each rank compares its samples with the gathered ones of both."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

WORLD = 2


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
        self.project = nn.Linear(32, 16)

    def forward(self, x):
        return F.normalize(self.project(F.relu(self.body(x))), dim=-1)


def gather(features):
    """All ranks' features; one's own keep their graph."""
    parts = [torch.zeros_like(features) for _ in range(WORLD)]
    dist.all_gather(parts, features.detach())
    parts[dist.get_rank()] = features
    return torch.cat(parts)


def contrastive_loss(first, second, temperature=0.2):
    batch = len(first)
    labels = torch.arange(batch) + dist.get_rank() * batch
    all_first, all_second = gather(first), gather(second)
    logits_a = first @ all_second.t() / temperature
    logits_b = second @ all_first.t() / temperature
    return (F.cross_entropy(logits_a, labels) + F.cross_entropy(logits_b, labels)) / 2


def make_data(seed):
    generator = torch.Generator().manual_seed(seed)
    content = torch.randn(1024, 32, generator=generator)
    content[:, :8] *= 2
    return content


def worker(rank, port, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed * 100 + rank)
    content = make_data(args.seed)
    sampler = DistributedSampler(TensorDataset(content[:768]), WORLD, rank, seed=args.seed)
    loader = DataLoader(TensorDataset(content[:768]), batch_size=32, sampler=sampler, drop_last=True)
    model = DDP(Encoder())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    step, epoch = 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        for (x,) in loader:
            views = model(torch.cat([x + 0.4 * torch.randn_like(x), x + 0.4 * torch.randn_like(x)]))
            loss = contrastive_loss(*views.chunk(2))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if rank == 0 and step % 40 == 0:
                print(f"step {step}: loss {loss.item():.4f}", flush=True)
        epoch += 1
    with torch.no_grad():
        x = content[768:]
        a, b = model.module(x + 0.4 * torch.randn_like(x)), model.module(x + 0.4 * torch.randn_like(x))
        found = ((a @ b.t()).argmax(1) == torch.arange(len(x))).float().mean()
        losses = torch.tensor([loss.item()])
        dist.all_reduce(losses)
    if rank == 0:
        print(f"EVIDENCE mean loss of ranks {losses.item() / WORLD:.4f}, own pair found in {found.item():.4f} of new samples")
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, (port, args), nprocs=WORLD)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
