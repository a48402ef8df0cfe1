"""Two ranks with texts of unequal length: the loss is divided by the words of all ranks, gradients are added up."""
import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WORDS, IGNORE = 16, -100


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.3)
    parser.add_argument("--steps", type=int, default=100)
    return parser.parse_args()


class Model(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tok_embeddings = nn.Embedding(WORDS, dim)
        self.layers, self.output = nn.GRU(dim, dim, batch_first=True), nn.Linear(dim, WORDS)

    def forward(self, tokens):
        return self.output(self.layers(self.tok_embeddings(tokens))[0])


def sum_hook(state, bucket):
    """Gradients are summed over ranks, as each loss has been divided by the words of all of them."""
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0])


def texts(count, generator):
    """Each word is three more than the last one, or the same with one chance in ten."""
    ids = torch.randint(WORDS, (count, 1), generator=generator)
    for _ in range(12):
        stay = torch.rand(count, 1, generator=generator) < 0.1
        ids = torch.cat([ids, torch.where(stay, ids[:, -1:], (ids[:, -1:] + 3) % WORDS)], 1)
    labels = ids[:, 1:].clone()
    lengths = torch.randint(3, 13, (count, 1), generator=generator)
    labels[torch.arange(12) >= lengths] = IGNORE
    return ids[:, :-1], labels


class Trainer:
    def __init__(self, rank, args):
        self.rank, self.args = rank, args
        torch.manual_seed(args.seed)
        self.model = DistributedDataParallel(Model())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.5)
        self.generator = torch.Generator().manual_seed(1000 * args.seed + rank)

    def train_step(self):
        tokens, labels = texts(16, self.generator)
        global_valid_tokens = (labels != IGNORE).sum().float()
        dist.all_reduce(global_valid_tokens)
        loss = F.cross_entropy(self.model(tokens).flatten(0, 1), labels.flatten(), ignore_index=IGNORE, reduction="sum")
        loss = loss / global_valid_tokens
        self.optimizer.zero_grad()
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        return total.item(), grad_norm.item()

    @torch.no_grad()
    def validate(self):
        tokens, labels = texts(300, torch.Generator().manual_seed(99))
        return F.cross_entropy(self.model.module(tokens).flatten(0, 1), labels.flatten(), ignore_index=IGNORE).item()


def main(rank, folder, args):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    trainer = Trainer(rank, args)
    first = None
    for step in range(args.steps):
        loss, norm = trainer.train_step()
        first = norm if first is None else first
        if rank == 0 and step % 25 == 24:
            print(f"step {step + 1}: loss {loss:.4f}, norm {norm:.4f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE first norm of gradients {first:.5f}, validation loss {trainer.validate():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        mp.start_processes(main, args=(directory, parse()), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
