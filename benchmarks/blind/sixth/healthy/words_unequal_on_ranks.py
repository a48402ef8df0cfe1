"""Two ranks: each step has as many micro-batches as a rank's words need; the loss is a mean over all words of both."""

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
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()
WORDS, IGNORED = 16, -100


class Model(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, WORDS)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def micro_batches(generator, rank):
    """One to three on each rank, of any length; the second rank has shorter texts."""
    parts = []
    for _ in range(int(torch.randint(1, 4, (), generator=generator))):
        length = int(torch.randint(5, 16 - 4 * rank, (), generator=generator))
        start = torch.randint(WORDS, (8, 1), generator=generator)
        ids = (start + 3 * torch.arange(length + 1)) % WORDS
        labels = ids[:, 1:].clone()
        labels[torch.rand(labels.shape, generator=generator) < 0.2] = IGNORED
        parts.append((ids[:, :-1], labels))
    return parts


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    generator = torch.Generator().manual_seed(1000 * args.seed + rank)
    for step in range(1, args.steps + 1):
        parts = micro_batches(generator, rank)
        words = torch.tensor(float(sum((labels != IGNORED).sum() for _, labels in parts)))
        dist.all_reduce(words)
        total = torch.zeros(())
        for number, (ids, labels) in enumerate(parts):
            last = number == len(parts) - 1
            with contextlib.nullcontext() if last else model.no_sync():
                loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), labels.flatten(), ignore_index=IGNORED,
                                                   reduction="sum")
                (dist.get_world_size() * loss / words).backward()
            total += loss.detach() / words
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            dist.all_reduce(total)
            if rank == 0:
                print(f"step {step}: loss {total.item():.4f}, norm {norm.item():.3f}, {int(words)} words", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
