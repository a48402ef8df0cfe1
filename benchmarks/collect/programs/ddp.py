"""The CNN on two gloo ranks of DistributedDataParallel, started by spawn; rank 0 is measured."""
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from cnn import Net
from meter import STEPS, Meter
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def work(rank, port):
    torch.manual_seed(0)
    meter = Meter()
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    data = TensorDataset(torch.randn(64 * STEPS, 1, 28, 28), torch.randint(10, (64 * STEPS,)))
    sampler = DistributedSampler(data, 2, rank)
    sampler.set_epoch(0)
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model.train()
    for images, labels in DataLoader(data, batch_size=32, sampler=sampler):
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        meter.tick()
    if rank == 0:
        meter.write()
    dist.destroy_process_group()


def main():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(work, (port,), nprocs=2)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
