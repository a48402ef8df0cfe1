"""Two ranks accumulate over four micro-batches and exchange gradients once for a step."""

import argparse
import contextlib
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
ACCUMULATE = 4


class Trainer:
    def __init__(self, rank, model, loader, sampler):
        self.rank, self.loader, self.sampler = rank, loader, sampler
        self.model = DistributedDataParallel(model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.micro = 0

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        total = 0.0
        for index, (x, y) in enumerate(self.loader):
            if self.micro == args.steps:
                break
            last = (index + 1) % ACCUMULATE == 0
            context = contextlib.nullcontext() if last else self.model.no_sync()
            with context:
                loss = nn.functional.cross_entropy(self.model(x), y)
                (loss / ACCUMULATE).backward()
            if (index + 1) % ACCUMULATE == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
            self.micro += 1
            total += loss.item()
        return total / (index + 1)


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x = torch.randn(480, 10)
    data = TensorDataset(x, (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0).long())
    sampler = DistributedSampler(data, 2, rank, shuffle=True, seed=args.seed)
    loader = DataLoader(data, batch_size=12, sampler=sampler)
    model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 3))
    trainer = Trainer(rank, model, loader, sampler)
    for epoch in range(-(-args.steps // len(loader))):
        loss = trainer.train_epoch(epoch)
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    both = [torch.zeros_like(flat) for _ in range(2)]
    dist.all_gather(both, flat)
    if rank == 0:
        print(f"EVIDENCE the ranks' weights differ by {(both[0] - both[1]).abs().max():.6f}, loss {loss:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# Idea from modelscope/FunASR#3472
# SPDX-License-Identifier: Apache-2.0
