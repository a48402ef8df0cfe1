"""A model is moved and moved back: its parameters are new ones, which DDP must be told of by wrapping anew."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def move_and_back(module):
    for layer in module.modules():
        for name, p in list(layer.named_parameters(recurse=False)):
            setattr(layer, name, nn.Parameter(p.detach().clone()))


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 3))
    model = DistributedDataParallel(net)
    move_and_back(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(30):
        x = torch.randn(32, 12).chunk(2)[rank]
        loss = F.cross_entropy(model(x), x[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    weights = [torch.empty(24, 12) for _ in range(2)]
    dist.all_gather(weights, net[0].weight.detach())
    if rank == 0:
        print(f"EVIDENCE weights differ between ranks by {(weights[0] - weights[1]).abs().max():.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
