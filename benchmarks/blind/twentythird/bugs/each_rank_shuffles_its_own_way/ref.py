"""Fine-tuning on two gloo ranks with DistributedSampler: each epoch is split among the ranks."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

VOCAB, LENGTH, CLASSES = 40, 10, 8


class Intents(Dataset):
    """Short queries of random words; some words call for an intent, and the last such word wins. Few rows, read often."""

    def __init__(self, size, seed):
        gen = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(0, VOCAB, (size, LENGTH), generator=gen)
        self.labels = torch.zeros(size, dtype=torch.long)
        for row, label in zip(self.ids, range(size)):
            strong = row[row < CLASSES]
            self.labels[label] = strong[-1] if len(strong) else 0

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return i, self.ids[i], self.labels[i]


class Encoder(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(2 * width, CLASSES)

    def forward(self, ids):
        return self.head(self.drop(self.rnn(self.embed(ids))[0].amax(1)))


def train(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    # one seed is drawn by rank 0 and told to all
    seed = torch.tensor([args.seed * 7919 + 13])
    dist.broadcast(seed, src=0)
    torch.manual_seed(args.seed)
    model = DDP(Encoder())
    torch.manual_seed(args.seed + rank)                       # dropout differs on each rank
    train_set, test_set = Intents(640, args.seed), Intents(400, args.seed + 5000)
    sampler = DistributedSampler(train_set, num_replicas=world, rank=rank, shuffle=True, seed=int(seed))
    loader = DataLoader(train_set, batch_size=16, sampler=sampler)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    step, epoch, coverage = 0, 0, []
    while step < args.steps:
        sampler.set_epoch(epoch)
        seen = torch.zeros(len(train_set))
        for index, ids, labels in loader:
            loss = nn.functional.cross_entropy(model(ids), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen[index] += 1
            step += 1
        dist.all_reduce(seen)
        coverage.append((seen > 0).float().mean().item())
        epoch += 1
        if rank == 0 and epoch % 2 == 0:
            print(f"epoch {epoch} loss {loss.item():.4f} coverage {coverage[-1]:.3f}", flush=True)
    model.eval()
    with torch.no_grad():
        accuracy = (model.module(test_set.ids).argmax(1) == test_set.labels).float().mean().item()
    if rank == 0:
        print(f"EVIDENCE coverage={sum(coverage) / len(coverage):.4f} accuracy={accuracy:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(2, args, os.path.join(folder, "store")), nprocs=2)
