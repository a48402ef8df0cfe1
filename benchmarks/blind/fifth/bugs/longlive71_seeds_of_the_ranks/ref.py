"""Two ranks train a classifier with DistributedDataParallel; a DistributedSampler gives each its part of the epoch."""

import argparse
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
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
SAMPLES, BATCH, CLASSES = 384, 16, 5


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    centres = torch.randn(CLASSES, 12)
    label = torch.randint(CLASSES, (SAMPLES,))
    data = TensorDataset(torch.arange(SAMPLES), centres[label] + torch.randn(SAMPLES, 12), label)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, CLASSES)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    run_seed = 1000 * args.seed + 7
    torch.manual_seed(run_seed + rank)
    sampler = DistributedSampler(data, shuffle=True, seed=run_seed)
    loader = DataLoader(data, batch_size=BATCH, sampler=sampler)
    step, epoch, met = 0, 0, torch.zeros(SAMPLES)
    while step < args.steps:
        sampler.set_epoch(epoch)
        for index, x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if epoch == 0:
                met[index] += 1
            if rank == 0 and step % 12 == 0:
                print(f"step {step}: loss {loss.item():.3f}", flush=True)
            if step == args.steps:
                break
        epoch += 1
    dist.all_reduce(met)
    if rank == 0:
        print(f"EVIDENCE of {SAMPLES} samples, {int((met == 0).sum())} were not met in the first epoch and "
              f"{int((met > 1).sum())} twice", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
