"""DDP under torchrun: bags of words, Adagrad, a plateau schedule fed by a mean over ranks, the best weights loaded by all ranks."""

import glob
import os
import re
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from options import options

BUCKETS, WORDS = 512, 12
KINDS = ("json", "email", "asyncio")


class Lines(Dataset):
    """A line of Python's library: words as buckets of a hash, and the package that it is from."""

    def __init__(self):
        self.rows = []
        for kind, package in enumerate(KINDS):
            for path in sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), package, "*.py")))[:6]:
                with open(path, encoding="utf-8") as f:
                    self.rows += [(w, kind) for w in map(self.words, f.read().splitlines()) if w is not None]
        order = torch.randperm(len(self.rows), generator=torch.Generator().manual_seed(0))[:1600]
        self.rows = [self.rows[i] for i in order]

    @staticmethod
    def words(line):
        found = re.findall(r"\w+", line)[:WORDS]
        if len(found) < 3:
            return None
        buckets = [1 + sum(31**i * ord(c) for i, c in enumerate(w)) % (BUCKETS - 1) for w in found]
        return torch.tensor(buckets + [0] * (WORDS - len(buckets)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Classifier(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bag = nn.EmbeddingBag(BUCKETS, width, mode="mean", padding_idx=0)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, len(KINDS)))

    def forward(self, words):
        return self.head(self.bag(words))


@torch.no_grad()
def mean_loss(model, criterion, loader):
    model.eval()
    total = torch.zeros(2)
    for words, kinds in loader:
        total += torch.tensor([criterion(model(words), kinds).item() * len(kinds), len(kinds)])
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    args = options(lr=5e-2, width=24, steps=45)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    lines = Lines()
    train_set, test_set = torch.utils.data.random_split(lines, [1400, 200], torch.Generator().manual_seed(args.seed))
    sampler = DistributedSampler(train_set, seed=args.seed)
    train_loader = DataLoader(train_set, batch_size=50, sampler=sampler)
    test_loader = DataLoader(test_set, batch_size=50, sampler=DistributedSampler(test_set, shuffle=False))
    model = DDP(Classifier(args.width))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    folder = tempfile.gettempdir()
    path, best = os.path.join(folder, f"ddp_text_{os.environ['MASTER_PORT']}.pt"), float("inf")
    for epoch in range(max(2, args.steps // len(train_loader))):
        sampler.set_epoch(epoch)
        model.train()
        for words, kinds in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(words), kinds)
            loss.backward()
            optimizer.step()
        held_out = mean_loss(model, criterion, test_loader)
        scheduler.step(held_out)
        if held_out < best:
            best = held_out
            if rank == 0:
                torch.save(model.module.state_dict(), path)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss.item():.3f}, held out {held_out:.3f}", flush=True)
    dist.barrier()
    model.module.load_state_dict(torch.load(path))
    final = mean_loss(model, criterion, test_loader)
    dist.barrier()
    if rank == 0:
        os.remove(path)
        print(f"best {final:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
