"""Two gloo ranks tune a small language model with DDP and micro-batches; each token of a step has the same weight."""
import argparse
import os
import random
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

VOCAB, PAD, WIDTH, MICRO = 16, 0, 32, 3


def phrase(rng, long):
    """Counts up or down from a start; rank 1 has the long ones."""
    start, by = rng.randrange(1, VOCAB), rng.choice((1, VOCAB - 2))
    length = rng.randrange(12, 20) if long else rng.randrange(3, 7)
    return [1 + (start - 1 + by * k) % (VOCAB - 1) for k in range(length)]


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.head = nn.Embedding(VOCAB, WIDTH), nn.GRU(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def micro_batches(rng, rank):
    out = []
    for _ in range(MICRO):
        rows = [phrase(rng, rank == 1) for _ in range(8)]
        width = max(map(len, rows))
        out.append(torch.tensor([r + [PAD] * (width - len(r)) for r in rows]))
    return out


def token_loss(model, ids):
    """Sum over the tokens of this micro-batch."""
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten(), ignore_index=PAD, reduction="sum")


def spread(model):
    """How far the ranks' parameters are apart."""
    mine = torch.cat([p.detach().flatten() for p in model.parameters()])
    mean = mine.clone()
    dist.all_reduce(mean)
    return (mine - mean / dist.get_world_size()).norm().item()


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Counter())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    rng, norms = random.Random(100 * args.seed + rank), []
    for step in range(args.steps):
        micro = micro_batches(rng, rank)
        mine = torch.tensor(float(sum((ids[:, 1:] != PAD).sum() for ids in micro)))
        tokens = mine.clone()
        dist.all_reduce(tokens)
        optimizer.zero_grad()
        logged = torch.zeros(())
        for k, ids in enumerate(micro):
            model.require_backward_grad_sync = k == MICRO - 1
            loss = token_loss(model, ids)
            logged += loss.detach()
            (loss * world / tokens).backward()
        dist.all_reduce(logged)
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 5.0).item())
        optimizer.step()
        if rank == 0 and step % 20 == 19:
            print(f"step {step + 1} loss {logged.item() / tokens.item():.4f}")
    apart = spread(model)
    if rank == 0:
        model.eval()
        with torch.no_grad():
            held = []
            for long in (False, True):
                rows = [phrase(random.Random(k), long) for k in range(40)]
                held.append(sum(token_loss(model.module, torch.tensor([r])).item() for r in rows) / sum(len(r) - 1 for r in rows))
        print(f"EVIDENCE apart={apart:.5f} first_norm={norms[0]:.4f} short={held[0]:.4f} long={held[1]:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.3)
    ap.add_argument("--steps", type=int, default=50)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    main()
