"""Recognition of speakers on two gloo ranks: an encoder, and a head with a cosine margin whose centres are learned too."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

SPEAKERS, DIM = 16, 24


class Encoder(nn.Module):
    def __init__(self, width=64, out=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, width), nn.ReLU(), nn.Linear(width, out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class MarginHead(nn.Module):
    """CosFace: cosines to a centre of each speaker, less a margin for the true one."""

    def __init__(self, out=16, scale=12.0, margin=0.2):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(SPEAKERS, out))
        self.scale, self.margin = scale, margin

    def forward(self, embedding, labels):
        cosine = embedding @ F.normalize(self.centres, dim=-1).T
        cosine = cosine - self.margin * F.one_hot(labels, SPEAKERS)
        return F.cross_entropy(self.scale * cosine, labels)


def utterances(gen, labels):
    voices = torch.randn(SPEAKERS, DIM, generator=torch.Generator().manual_seed(2))
    return voices[labels] + 1.3 * torch.randn(len(labels), DIM, generator=gen)


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    encoder, head = DDP(Encoder()), DDP(MarginHead())
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=args.lr, momentum=0.9)
    gen = torch.Generator().manual_seed(args.seed * 40 + rank)
    # the files of a rank hold mostly speakers of one half
    often = (torch.arange(SPEAKERS) // (SPEAKERS // world) == rank).float() * 9 + 1
    for step in range(args.steps):
        labels = torch.multinomial(often, 32, replacement=True, generator=gen)
        loss = head(encoder(utterances(gen, labels)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and (step + 1) % 20 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}", flush=True)
    centres = F.normalize(next(head.parameters()).detach(), dim=-1)
    first = centres.clone()
    dist.broadcast(first, src=0)
    gap = (first - centres).norm(dim=-1).mean()
    dist.all_reduce(gap)
    labels = torch.arange(SPEAKERS).repeat(60)
    with torch.no_grad():
        found = encoder.module(utterances(torch.Generator().manual_seed(66), labels)) @ centres.T
    accuracy = (found.argmax(1) == labels).float().mean().item()
    if rank == 0:
        print(f"EVIDENCE distance_of_centres={gap.item():.4f} accuracy={accuracy:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
