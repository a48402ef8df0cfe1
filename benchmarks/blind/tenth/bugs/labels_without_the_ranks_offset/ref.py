"""Two ranks match pictures and captions: each compares its own pictures with the captions of both ranks."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--steps", type=int, default=100)
    return parser.parse_args()


class TwoTowers(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.picture = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, width))
        self.caption = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, width))
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, pictures, captions):
        a = nn.functional.normalize(self.picture(pictures), dim=1)
        b = nn.functional.normalize(self.caption(captions), dim=1)
        return a, b, self.log_scale.exp()


def make_pairs(world, count, generator):
    hidden = torch.randn(count, 8, generator=generator)
    noise = 0.2 * torch.randn(count, 40, generator=generator)
    return torch.tanh(hidden @ world[0]) + noise[:, :24], torch.tanh(hidden @ world[1]) + noise[:, 24:]


def gather(mine):
    """What all ranks have, with one's own part put back in for its gradient."""
    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine.detach().contiguous())
    parts[dist.get_rank()] = mine
    return torch.cat(parts)


def contrast(a, b, scale):
    rank, count = dist.get_rank(), len(a)
    all_b = gather(b)
    all_a = gather(a)
    labels = torch.arange(count) + rank * count
    by_picture = nn.functional.cross_entropy(scale * a @ all_b.T, labels)
    by_caption = nn.functional.cross_entropy(scale * b @ all_a.T, labels)
    return (by_picture + by_caption) / 2


def main(rank, folder, args):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    world = torch.randn(8, 24), torch.randn(8, 16)
    test = make_pairs(world, 200, torch.Generator().manual_seed(args.seed + 77))
    model = DistributedDataParallel(TwoTowers())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    generator = torch.Generator().manual_seed(1000 * args.seed + rank)
    for step in range(args.steps):
        pictures, captions = make_pairs(world, 32, generator)
        loss = contrast(*model(pictures, captions))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0 and rank == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    losses = [torch.zeros(()) for _ in range(2)]
    dist.all_gather(losses, loss.detach())
    if rank == 0:
        with torch.no_grad():
            a, b, _ = model.module(*test)
            found = ((a @ b.T).argmax(1) == torch.arange(len(a))).float().mean().item()
        print(f"EVIDENCE losses {losses[0].item():.4f} and {losses[1].item():.4f}, {found:.4f} of the captions found")
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        mp.start_processes(main, args=(directory, parse()), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
