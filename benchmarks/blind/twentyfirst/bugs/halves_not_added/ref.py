"""Long rows are cut in two: each rank has half of the tokens, hands its summary on, and the gradients are added up."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, IGNORE = 20, 32, -100


def rows(n, gen):
    ids = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    for t in range(1, LENGTH):
        follow = torch.rand(n, generator=gen) < 0.85
        ids[:, t] = torch.where(follow, (5 * ids[:, t - 1] + 3) % VOCAB, ids[:, t])
    return ids


class ShardLM(nn.Module):
    """Tokens see the last few tokens of their own half and the mean of all tokens of the first half."""

    def __init__(self, dim=40):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.conv = nn.Conv1d(dim, dim, 3)
        self.mix = nn.Linear(2 * dim, dim)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids, summary):
        x = self.embed(ids)
        near = F.gelu(self.conv(F.pad(x.transpose(1, 2), (2, 0)))).transpose(1, 2)
        both = torch.cat([near, summary[:, None].expand_as(near)], -1)
        return self.head(torch.tanh(self.mix(both)) + near)


def shift_labels(ids):
    return torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], IGNORE)], 1)


def shard(x, rank, world):
    return x.chunk(world, dim=1)[rank]


def sum_gradients(module):
    for p in module.parameters():
        dist.all_reduce(p.grad)


def worker(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = ShardLM()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    counted = torch.zeros(1)
    for step in range(args.steps):
        ids = rows(16, gen)
        labels = shard(shift_labels(ids), rank, world)
        ids = shard(ids, rank, world)
        with torch.no_grad():
            summary = model.embed(ids).mean(1)
            dist.broadcast(summary, src=0)
        tokens = (labels != IGNORE).sum()
        dist.all_reduce(tokens)
        loss = F.cross_entropy(model(ids, summary).flatten(0, 1), labels.flatten(), ignore_index=IGNORE, reduction="sum") / tokens
        optimizer.zero_grad()
        loss.backward()
        sum_gradients(model)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        counted += tokens
        if rank == 0 and step % 30 == 0:
            print(f"step {step} loss {2 * loss.item():.4f}", flush=True)
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    both = [torch.empty_like(flat) for _ in range(world)]
    dist.all_gather(both, flat)
    if rank == 0:
        apart = (both[0] - both[1]).norm().item()
        print(f"EVIDENCE ranks_apart={apart:.5f} tokens_per_row={counted.item() / args.steps / 16:.2f} loss={2 * loss.item():.4f}",
              flush=True)
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
    mp.spawn(worker, args=(2, args), nprocs=2)


if __name__ == "__main__":
    main()
