"""Two ranks denoise signals; the last validation batch is filled up, so that samples have weights of one or nought."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.004)
parser.add_argument("--steps", type=int, default=120)
FLAGS = parser.parse_args()


class Workload:
    def __init__(self, rank, world):
        self.rank, self.world = rank, world
        self.model = DDP(nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 24)))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=FLAGS.lr)

    def signals(self, count):
        phase, pace = 6.28 * torch.rand(count, 1), 0.2 + 0.4 * torch.rand(count, 1)
        clean = torch.sin(phase + pace * torch.arange(24))
        return clean + 0.5 * torch.randn(count, 24), clean

    def shard(self, tensor):
        return tensor.chunk(self.world)[self.rank]

    def train_step(self, batch):
        noisy, clean = (self.shard(t) for t in batch)
        loss = nn.functional.mse_loss(self.model(noisy), clean)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def eval_batches(self, data, size=64):
        for start in range(0, len(data[0]), size):
            noisy, clean = (t[start:start + size] for t in data)
            missing = size - len(noisy)
            weights = torch.cat([torch.ones(len(noisy)), torch.zeros(missing)])
            noisy, clean = (nn.functional.pad(t, (0, 0, 0, missing)) for t in (noisy, clean))
            yield {"inputs": self.shard(noisy), "targets": self.shard(clean), "weights": weights}

    @torch.no_grad()
    def evaluate(self, data):
        self.model.eval()
        total, denominator = torch.zeros(()), torch.zeros(())
        for batch in self.eval_batches(data):
            errors = (self.model.module(batch["inputs"]) - batch["targets"]).pow(2).mean(1)
            total += (errors * batch["weights"][:len(errors)]).sum()
            denominator += batch["weights"].sum()
        self.model.train()
        both = torch.stack([total, denominator])
        dist.all_reduce(both)
        return (both[0] / both[1]).item(), both[1].item()


def main(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(FLAGS.seed)
    workload = Workload(rank, 2)
    valid = workload.signals(300)
    for step in range(FLAGS.steps):
        loss = workload.train_step(workload.signals(64))
        if step % 30 == 29:
            error, _ = workload.evaluate(valid)
            if rank == 0:
                print(f"step {step + 1}: loss {loss:.4f}, validation {error:.4f}", flush=True)
    error, count = workload.evaluate(valid)
    with torch.no_grad():
        truth = nn.functional.mse_loss(workload.model.module(valid[0]), valid[1]).item()
    if rank == 0:
        print(f"EVIDENCE validation error {error:.4f} over {count:.0f} samples; it is {truth:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        mp.start_processes(main, args=(directory,), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
