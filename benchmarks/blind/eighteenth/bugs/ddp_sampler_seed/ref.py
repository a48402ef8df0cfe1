"""Data-parallel training of a digit classifier on two gloo ranks."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

WORLD_SIZE = 2


class Digits(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return i, self.x[i], self.y[i]


def load_splits():
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16.0
    y = torch.tensor(digits.target)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(1234))
    x, y = x[order], y[order]
    return Digits(x[:800], y[:800]), x[800:], y[800:]


def build_model():
    return nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(128, 64), nn.ReLU(),
        nn.Linear(64, 10),
    )


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def setup(rank, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD_SIZE)


def worker(rank, args, port):
    setup(rank, port)
    # dropout and input noise differ from rank to rank
    torch.manual_seed(args.seed + rank)
    train_set, x_test, y_test = load_splits()
    sampler = DistributedSampler(train_set, num_replicas=WORLD_SIZE, rank=rank,
                                 shuffle=True, seed=args.seed)
    loader = DataLoader(train_set, batch_size=20, sampler=sampler)

    model = DDP(build_model())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    visits = torch.zeros(len(train_set))
    step = epoch = 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        for idx, x, y in loader:
            model.train()
            x = x + 0.05 * torch.randn_like(x)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            visits[idx] += 1
            step += 1
            if step % 20 == 0:
                mean = loss.detach().clone()
                dist.all_reduce(mean)
                if rank == 0:
                    print(f"step {step} loss {mean.item() / WORLD_SIZE:.4f}", flush=True)
            if step >= args.steps:
                break
        epoch += 1

    dist.all_reduce(visits)
    if rank == 0:
        model.eval()
        with torch.no_grad():
            logits = model.module(x_test)
        acc = (logits.argmax(1) == y_test).float().mean().item()
        print(f"EVIDENCE test_acc {acc:.4f} test_loss {F.cross_entropy(logits, y_test).item():.4f} "
              f"visits_min {int(visits.min())} visits_max {int(visits.max())}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    mp.start_processes(worker, args=(args, free_port()), nprocs=WORLD_SIZE, join=True,
                       start_method="fork")


if __name__ == "__main__":
    main()
