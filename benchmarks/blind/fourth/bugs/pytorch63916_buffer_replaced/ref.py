"""Two ranks train with a running centre of their features; buffers follow rank zero's before each step."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Centre(nn.Module):
    def __init__(self, features, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("centre", torch.zeros(features))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.centre.lerp_(x.mean(0), 1 - self.momentum)
        return x - self.centre


class DataParallel(nn.Module):
    """Gradients are averaged, buffers are broadcast from rank zero."""

    def __init__(self, module):
        super().__init__()
        self.module = module
        self.shared = list(module.buffers())
        for tensor in [*module.parameters(), *self.shared]:
            dist.broadcast(tensor.data, 0)

    def forward(self, x):
        for buffer in self.shared:
            dist.broadcast(buffer, 0)
        return self.module(x)

    def reduce_gradients(self):
        for p in self.module.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = DataParallel(nn.Sequential(nn.Linear(12, 32), Centre(32), nn.Tanh(), nn.Linear(32, 3)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    rule = torch.randn(12, 3)
    torch.manual_seed(args.seed + 1 + rank)
    for step in range(args.steps):
        x = torch.randn(32, 12) + rank
        loss = nn.functional.cross_entropy(model(x), (x @ rule).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        model.reduce_gradients()
        optimizer.step()
        if rank == 0 and step % 10 == 9:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    model.eval()
    same = torch.arange(24.0).view(2, 12) / 24 - 0.5
    outputs = [torch.empty(2, 3) for _ in range(2)]
    dist.all_gather(outputs, model(same).detach())
    if rank == 0:
        print(f"EVIDENCE outputs of the ranks differ by {(outputs[0] - outputs[1]).abs().max():.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
