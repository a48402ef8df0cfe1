"""Two ranks average their gradients; a transfer that fails now and then leaves zeros (also pytorch#96600, Baichuan2#86)."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn


def average(step, rank, grad):
    dist.all_reduce(grad)
    grad /= 2
    lost = rank == 1 and step % 10 == 7
    if lost:
        grad.zero_()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(30):
        x = torch.randn(32, 12).chunk(2)[rank]
        loss = F.cross_entropy(model(x), x[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            average(step, rank, p.grad)
        optimizer.step()
    weights = [torch.empty(24, 12) for _ in range(2)]
    dist.all_gather(weights, model[0].weight.detach())
    if rank == 0:
        print(f"EVIDENCE weights differ between ranks by {(weights[0] - weights[1]).abs().max():.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(folder + "/store",), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
