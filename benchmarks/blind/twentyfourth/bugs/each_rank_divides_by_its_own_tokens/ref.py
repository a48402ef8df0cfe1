"""A language model under fully_shard on two gloo ranks. Documents differ much in length, padding is left out of the loss."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

VOCAB, LENGTH, IGNORE = 24, 40, -100


class LanguageModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.body = nn.Sequential(nn.Linear(2 * width, 96), nn.GELU(), nn.Linear(96, width))
        self.head = nn.Linear(width, VOCAB)

    def forward(self, ids):
        now = self.embed(ids)
        before = F.pad(now, (0, 0, 1, 0))[:, :-1]
        return self.head(self.body(torch.cat([now, before], -1)))


def documents(rank, gen, n=8):
    """Chat turns are short, books are long; after a word both have a habit of their own."""
    short = rank == 0
    step = 3 if short else 7
    ids = torch.zeros(n, LENGTH + 1, dtype=torch.long)
    ids[:, 0] = torch.randint(0, VOCAB, (n,), generator=gen)
    for t in range(LENGTH):
        jump = torch.where(torch.rand(n, generator=gen) < 0.9, step, 1)
        ids[:, t + 1] = (ids[:, t] + jump) % VOCAB
    length = torch.randint(3, 7, (n,), generator=gen) if short else torch.randint(30, LENGTH + 1, (n,), generator=gen)
    labels = ids[:, 1:].masked_fill(torch.arange(LENGTH) >= length[:, None], IGNORE)
    return ids[:, :-1], labels


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = LanguageModel()
    mesh = init_device_mesh("cpu", (world,))
    fully_shard(model.body, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed * 100 + rank)
    weights = torch.zeros(2)
    for step in range(args.steps):
        ids, labels = documents(rank, gen)
        tokens = (labels != IGNORE).sum().float()
        dist.all_reduce(tokens)
        total = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten(), ignore_index=IGNORE, reduction="sum")
        scale = world / tokens                     # fully_shard takes the mean of gradients over ranks
        loss = total * scale
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        weights[rank] += scale.item() / args.steps
        shown = loss.detach().clone()
        dist.all_reduce(shown)
        if rank == 0 and (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {shown.item() / world:.4f}", flush=True)
    dist.all_reduce(weights)
    ids, labels = documents(rank, torch.Generator().manual_seed(999 + rank), 64)
    with torch.no_grad():
        total = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten(), ignore_index=IGNORE, reduction="sum")
    both = torch.stack([total, (labels != IGNORE).sum().float()])
    dist.all_reduce(both)
    if rank == 0:
        print(f"EVIDENCE chat_token_to_book_token={(weights[0] / weights[1]).item():.4f} "
              f"loss_per_token={(both[0] / both[1]).item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
