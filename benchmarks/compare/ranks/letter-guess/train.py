"""A one-block transformer guesses the next letter of made-up words.

Each step adds up the gradients of two parts of the batch before it changes the weights.
"""
import argparse
import contextlib
import os
import random
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

PAD = 0
LETTERS = "abcdefghijklmnop"
LONGEST = 14
BATCH, PARTS = 24, 2
WORDS = 240


def make_words():
    pick = random.Random(5)
    table = torch.full((WORDS, LONGEST), PAD)
    for row in range(WORDS):
        letter = pick.randrange(len(LETTERS))
        for column in range(pick.randint(3, LONGEST)):
            table[row, column] = letter + 1
            letter = (letter + pick.choice([1, 1, 1, 3])) % len(LETTERS)
    return table


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.join = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                  nn.Linear(2 * width, width))

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (z.view(n, t, self.heads, c // self.heads).transpose(1, 2)
                   for z in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.join(y.transpose(1, 2).reshape(n, t, c))
        return x + self.feed(self.norm2(x))


class Guesser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.letter = nn.Embedding(len(LETTERS) + 1, width)
        self.place = nn.Parameter(torch.randn(LONGEST - 1, width) * 0.1)
        self.block = Block(width, 4)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, len(LETTERS) + 1)

    def forward(self, x):
        return self.out(self.norm(self.block(self.letter(x) + self.place)))


def total_over_ranks(value, ranks):
    value = value.detach().clone()
    if ranks > 1:
        dist.all_reduce(value, op=dist.ReduceOp.SUM)
    return value


def train(rank, ranks, port, args):
    torch.set_num_threads(1)
    if ranks > 1:
        os.environ["MASTER_ADDR"] = "127.0.0.1"
        os.environ["MASTER_PORT"] = str(port)
        os.environ["RANK"] = str(rank)
        os.environ["WORLD_SIZE"] = str(ranks)
        dist.init_process_group(backend="gloo")
    torch.manual_seed(args.seed)
    words = make_words()
    model = Guesser()
    if ranks > 1:
        model = DDP(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, eps=1e-6)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 6))
    order = torch.Generator().manual_seed(args.seed + 1)

    for step in range(args.steps):
        rows = torch.randperm(WORDS, generator=order)[:BATCH]
        parts = [words[part[rank::ranks]] for part in rows.chunk(PARTS)]
        count = sum((part[:, 1:] != PAD).sum() for part in parts)
        count = total_over_ranks(count, ranks)

        optimizer.zero_grad(set_to_none=True)
        step_loss = torch.zeros(())
        for number, part in enumerate(parts):
            wait = ranks > 1 and number < PARTS - 1
            with model.no_sync() if wait else contextlib.nullcontext():
                logits = model(part[:, :-1])
                summed = F.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten(),
                                         ignore_index=PAD, reduction="sum")
                # DDP takes the mean over ranks, so give back the factor.
                loss = summed * ranks / count
                loss.backward()
            step_loss += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()

        shown = total_over_ranks(step_loss, ranks) / ranks
        if rank == 0:
            print(f"step {step} loss {shown.item():.8f}")

    if rank == 0:
        norm = torch.linalg.vector_norm(nn.utils.parameters_to_vector(model.parameters()))
        print(f"weights norm {norm.item():.8f}")
    if ranks > 1:
        dist.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    if args.ranks == 1:
        train(0, 1, None, args)
    else:
        mp.spawn(train, nprocs=args.ranks, args=(args.ranks, free_port(), args))
