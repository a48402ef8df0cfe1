"""Data parallel with bfloat16 autocast and a GradScaler, two groups of parameters, gradients as bucket views."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from options import options


def setup(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.set_num_threads(1)


class Mixer(nn.Module):
    """Rows and columns of a digit, mixed in turn."""

    def __init__(self, width):
        super().__init__()
        self.rows = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, width), nn.GELU(), nn.Linear(width, 8))
        self.columns = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, width), nn.GELU(), nn.Linear(width, 8))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = x + self.rows(x)
        x = x + self.columns(x.transpose(1, 2)).transpose(1, 2)
        return self.head(x.flatten(1))


def run(rank, world_size, port, args):
    from sklearn.datasets import load_digits

    setup(rank, world_size, port)
    torch.manual_seed(args.seed)
    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.images, dtype=torch.float32) / 16, torch.tensor(digits.target))
    sampler = DistributedSampler(data, num_replicas=world_size, rank=rank)
    loader = DataLoader(data, batch_size=64, sampler=sampler)
    model = DDP(Mixer(args.width), gradient_as_bucket_view=True)
    weights = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": weights, "weight_decay": 0.05}, {"params": others, "weight_decay": 0}], lr=args.lr)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for epoch in range(max(2, args.steps // len(loader))):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        losses = [torch.zeros(1) for _ in range(world_size)]
        dist.all_gather(losses, loss.detach().float().view(1))
        if rank == 0:
            print(f"epoch {epoch}: loss {torch.cat(losses).mean().item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(run, args=(2, port, options(lr=5e-3, width=32, steps=30)), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
