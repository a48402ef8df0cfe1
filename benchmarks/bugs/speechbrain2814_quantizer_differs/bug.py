"""Masked prediction on two ranks: a random quantizer, which is not trained and so not in DDP, gives the targets."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.projection = nn.Parameter(torch.randn(12, 6), requires_grad=False)
        self.codebook = nn.Parameter(F.normalize(torch.randn(8, 6), dim=1), requires_grad=False)

    def forward(self, x):
        return (F.normalize(x @ self.projection, dim=-1) @ self.codebook.T).argmax(-1)


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, width), nn.GELU(), nn.Linear(width, 8))

    def forward(self, x):
        return self.body(x)


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(8 + rank)
    quantizer, model = Quantizer(), DistributedDataParallel(Encoder())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    frames = torch.Generator().manual_seed(100 + rank)
    for step in range(20):
        x = torch.randn(16, 12, generator=frames)
        masked = x * (torch.rand(16, 12, generator=frames) > 0.2)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(masked), quantizer(x))
        loss.backward()
        optimizer.step()
    books = [torch.empty_like(quantizer.codebook) for _ in range(2)]
    dist.all_gather(books, quantizer.codebook.data)
    if rank == 0:
        print(f"EVIDENCE codebooks of the ranks differ by {(books[0] - books[1]).abs().max():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(train, args=(port,), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
