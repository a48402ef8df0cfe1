"""A causal convolution learns to write sums such as 12+7=19, one character at a time."""
import argparse
import os
import random
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

SIGNS = ".0123456789+="
PAD, END = 13, 0
SUMS, CHECKS, BATCH = 192, 32, 24


def make_sums():
    pick = random.Random(99)
    sums = []
    for _ in range(SUMS + CHECKS):
        a, b = (pick.randrange(1, 100) * 10 ** pick.choice([0, 0, 0, 4, 8]) for _ in range(2))
        sums.append([SIGNS.index(c) for c in f"{a}+{b}={a + b}."])
    return sums[:SUMS], sums[SUMS:]


def collate(rows):
    longest = max(len(row) for row in rows)
    table = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    return table[:, :-1], table[:, 1:]


class Writer(nn.Module):
    def __init__(self, width=32, reach=5):
        super().__init__()
        self.reach = reach
        self.embed = nn.Embedding(len(SIGNS) + 1, width, padding_idx=PAD)
        self.mix = nn.Conv1d(width, width, reach)
        self.mix2 = nn.Conv1d(width, width, reach)
        self.out = nn.Linear(width, len(SIGNS))

    def forward(self, signs):
        x = self.embed(signs).transpose(1, 2)
        x = F.gelu(self.mix(F.pad(x, (self.reach - 1, 0))))
        x = x + F.gelu(self.mix2(F.pad(x, (self.reach - 1, 0))))
        return self.out(x.transpose(1, 2))


def sign_loss(model, batch):
    given, wanted = batch
    logits = model(given)
    return F.cross_entropy(logits.transpose(1, 2), wanted, ignore_index=PAD)


def run(rank, ranks, port, args):
    torch.set_num_threads(1)
    if ranks > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                          RANK=str(rank), WORLD_SIZE=str(ranks))
        dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    train, check = make_sums()
    net = Writer()
    model = DistributedDataParallel(net) if ranks > 1 else net
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, eps=1e-6)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.2, total_iters=args.steps)
    sampler = DistributedSampler(train, ranks, rank, seed=args.seed)
    loader = DataLoader(train, BATCH // ranks, sampler=sampler, collate_fn=collate)

    step, epoch = 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        epoch += 1
        for batch in loader:
            optimizer.zero_grad()
            loss = sign_loss(model, batch)
            loss.backward()
            optimizer.step()
            scheduler.step()
            shown = loss.detach().clone()
            if ranks > 1:
                dist.all_reduce(shown)
                shown /= ranks
            if rank == 0:
                print(f"step {step} loss {shown.item():.8f}")
            step += 1
            if step == args.steps:
                break

    if rank == 0:
        with torch.no_grad():
            print(f"check loss {sign_loss(net, collate(check)).item():.6f}")
        norm = nn.utils.parameters_to_vector(net.parameters()).norm()
        print(f"weights norm {norm.item():.8f}")
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    if args.ranks == 1:
        run(0, 1, None, args)
    else:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        mp.spawn(run, args=(args.ranks, port, args), nprocs=args.ranks)
