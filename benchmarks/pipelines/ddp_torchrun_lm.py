"""A language model under torchrun: two ranks, AdamW, warm-up and cosine by steps, clipping, tied weights."""

import contextlib
import os
import shlex
import tarfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from options import options

CONTEXT = 32


class TextDataset(Dataset):
    def __init__(self, *modules):
        text = ""
        for module in modules:
            with open(module.__file__) as f:
                text += f.read(9000)
        self.data = torch.tensor([min(ord(c), 127) for c in text])

    def __len__(self):
        return len(self.data) // CONTEXT - 1

    def __getitem__(self, i):
        chunk = self.data[i * CONTEXT : (i + 1) * CONTEXT + 1]
        return chunk[:-1], chunk[1:]


class Decoder(nn.Module):
    def __init__(self, dim, layers=2):
        super().__init__()
        self.embed = nn.Embedding(128, dim)
        self.position = nn.Embedding(CONTEXT, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 4 * dim, dropout=0.1, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(dim, 128, bias=False)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.head.weight = self.embed.weight
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(CONTEXT), persistent=False)

    def forward(self, ids):
        x = self.embed(ids) + self.position.weight
        return self.head(self.layers(x, mask=self.mask, is_causal=True))


@torch.no_grad()
def validate(model, loader):
    model.eval()
    losses = [F.cross_entropy(model(x).flatten(0, 1), y.flatten()) for x, y in loader]
    mean = torch.stack(losses).mean()
    dist.all_reduce(mean)
    model.train()
    return mean.item() / dist.get_world_size()


def main():
    args = options(lr=3e-3, width=32, steps=34)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed + rank)
    torch.set_num_threads(1)
    train_set, val_set = TextDataset(shlex, tarfile), TextDataset(contextlib)
    sampler = DistributedSampler(train_set, shuffle=True, drop_last=True)
    train_loader = DataLoader(train_set, batch_size=16, sampler=sampler, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=16, sampler=DistributedSampler(val_set, shuffle=False, drop_last=True))
    model = DistributedDataParallel(Decoder(args.width))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    epochs = max(2, args.steps // len(train_loader))
    total = epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=5),
            torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=max(1, total - 5)),
        ],
        milestones=[5],
    )
    for epoch in range(epochs):
        train_loader.sampler.set_epoch(epoch)
        model.train()
        for x, y in train_loader:
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        val = validate(model, val_loader)
        if rank == 0:
            print(f"epoch {epoch} of {world} ranks ({os.environ['WORLD_SIZE']}): loss {loss.item():.3f}, val {val:.3f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
