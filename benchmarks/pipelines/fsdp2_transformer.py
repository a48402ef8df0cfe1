"""fully_shard on two ranks: every block and the root, AdamW, clipping, a warm-up schedule."""

import bisect
import os
import textwrap

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from options import options

CONTEXT = 24


class Chunks(Dataset):
    def __init__(self):
        text = ""
        for module in (textwrap, bisect):
            with open(module.__file__) as f:
                text += f.read()
        self.ids = torch.tensor([min(ord(c), 127) for c in text])

    def __len__(self):
        return len(self.ids) // CONTEXT - 1

    def __getitem__(self, i):
        return self.ids[i * CONTEXT : (i + 1) * CONTEXT + 1]


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        mask = torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, dim, layers=2):
        super().__init__()
        self.embed = nn.Embedding(128, dim)
        self.position = nn.Parameter(torch.randn(CONTEXT, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(layers))
        self.head = nn.Linear(dim, 128)

    def forward(self, ids):
        x = self.embed(ids) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main():
    args = options(lr=3e-3, width=32, steps=30)
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = Model(args.width)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 8))
    data = Chunks()
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, batch_size=16, sampler=sampler, drop_last=True)
    for epoch in range(max(2, args.steps // len(loader))):
        sampler.set_epoch(epoch)
        model.train()
        for chunk in loader:
            optimizer.zero_grad()
            logits = model(chunk[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        if rank == 0:
            print(f"epoch {epoch}: loss {loss.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
