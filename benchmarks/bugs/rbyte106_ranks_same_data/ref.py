"""Two ranks, one shuffled data set: without a sampler for ranks both draw the same samples."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset


def main(rank, store):
    from sklearn.datasets import load_wine

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    raw = load_wine()
    x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
    data = TensorDataset(torch.arange(len(x)), x, torch.tensor(raw.target))
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=16, sampler=sampler, drop_last=True)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(13, 24), nn.ReLU(), nn.Linear(24, 3)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    seen = []
    for epoch in range(4):
        if isinstance(sampler, DistributedSampler):
            sampler.set_epoch(epoch)
        for index, features, target in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(features), target)
            loss.backward()
            optimizer.step()
            seen.append(index)
    mine = torch.stack(seen[:5])
    both = [torch.empty_like(mine) for _ in range(2)]
    dist.all_gather(both, mine)
    if rank == 0:
        common = len(set(both[0].flatten().tolist()) & set(both[1].flatten().tolist()))
        print(f"EVIDENCE samples_seen_by_both_ranks={common} of 80 loss={loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
