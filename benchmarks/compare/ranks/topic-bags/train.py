"""A bag of words gets one of four topics. Short made-up texts, padded with word 0."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Sampler, TensorDataset

VOCABULARY, TOPICS, LENGTH = 60, 4, 12
TEXTS, BATCH = 96, 16


def make_texts():
    g = torch.Generator().manual_seed(31)
    topics = torch.randint(TOPICS, (TEXTS,), generator=g)
    own = 1 + topics[:, None] * 8 + torch.randint(8, (TEXTS, LENGTH), generator=g)
    common = torch.randint(33, VOCABULARY, (TEXTS, LENGTH), generator=g)
    texts = torch.where(torch.rand(TEXTS, LENGTH, generator=g) < 0.3, own, common)
    lengths = torch.randint(4, LENGTH + 1, (TEXTS,), generator=g)
    texts[torch.arange(LENGTH)[None] >= lengths[:, None]] = 0
    return TensorDataset(texts, topics)


class EpochShuffle(Sampler):
    """All rows in a new order in each epoch."""

    def __init__(self, size, seed):
        self.size, self.seed, self.epoch = size, seed, 0

    def __len__(self):
        return self.size

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.epoch)
        self.epoch += 1
        return iter(torch.randperm(self.size, generator=g).tolist())


class Topics(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 24, padding_idx=0)
        self.hidden = nn.Linear(24, 32)
        self.out = nn.Linear(32, TOPICS)

    def forward(self, texts):
        kept = (texts != 0).unsqueeze(-1)
        mean = (self.embed(texts) * kept).sum(1) / kept.sum(1)
        return self.out(torch.tanh(self.hidden(mean)))


def make_loader(data, rank, world, seed):
    if world == 1:
        return DataLoader(data, BATCH, sampler=EpochShuffle(len(data), seed))
    sampler = DistributedSampler(data, num_replicas=world, rank=rank, shuffle=True, seed=seed)
    return DataLoader(data, BATCH // world, sampler=sampler)


def worker(rank, world, port, args):
    torch.set_num_threads(1)
    if world > 1:
        os.environ["MASTER_ADDR"] = "127.0.0.1"
        os.environ["MASTER_PORT"] = str(port)
        os.environ["RANK"] = str(rank)
        os.environ["WORLD_SIZE"] = str(world)
        dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    data = make_texts()
    model = Topics()
    if world > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, eps=1e-6)
    loader = make_loader(data, rank, world, args.seed)

    step = 0
    while step < args.steps:
        for texts, topics in loader:
            loss = F.cross_entropy(model(texts), topics)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            shown = loss.detach().clone()
            if world > 1:
                dist.all_reduce(shown)
                shown /= world
            if rank == 0:
                print(f"step {step} loss {shown.item():.8f}")
            step += 1
            if step == args.steps:
                break

    if rank == 0:
        norm = nn.utils.parameters_to_vector(model.parameters()).norm()
        print(f"weights norm {norm.item():.8f}")
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    if args.ranks == 1:
        worker(0, 1, None, args)
    else:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        mp.spawn(worker, args=(args.ranks, port, args), nprocs=args.ranks)
