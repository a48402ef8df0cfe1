"""Two ranks: gradients are exchanged in the last of three micro-batches; the sums of losses are divided by all ranks' words."""

import argparse
import contextlib
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=18)
args = parser.parse_args()


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 24, padding_idx=0)
        self.rnn = nn.GRU(24, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, 3)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])


def batch(generator):
    ids = torch.randint(1, 20, (8, 12), generator=generator)
    lengths = torch.randint(2, 13, (8,), generator=generator)
    keep = torch.arange(12)[None] < lengths[:, None]
    return ids * keep, torch.where(keep, ids % 3, -100)


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Tagger())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    generator = torch.Generator().manual_seed(1000 * args.seed + rank)
    for step in range(args.steps):
        window = [batch(generator) for _ in range(3)]
        words = torch.tensor(float(sum((y != -100).sum() for _, y in window)))
        dist.all_reduce(words)
        total = torch.zeros(())
        for i, (ids, y) in enumerate(window):
            with model.no_sync() if i < 2 else contextlib.nullcontext():
                loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), y.flatten(), reduction="sum")
                (loss * 2 / words).backward()
            total += loss.detach() / words
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(total)
    if rank == 0:
        print(f"loss {total.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
