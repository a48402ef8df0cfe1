"""Two ranks, each with pictures of its own site; batch norm takes mean and variance over both."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=90)
ARGS = parser.parse_args()


class SumOverRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, grad):
        total = grad.clone()
        dist.all_reduce(total)
        return total


class SyncNorm(nn.Module):
    """Batch norm over all ranks, with gradients through the reduction."""

    def __init__(self, features, momentum=0.1, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))
        self.momentum, self.eps = momentum, eps

    def forward(self, x):
        if self.training:
            world = dist.get_world_size()
            mean = SumOverRanks.apply(x.mean(0)) / world
            var = SumOverRanks.apply((x - mean).pow(2).mean(0)) / world
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(var, self.momentum)
        else:
            mean, var = self.running_mean, self.running_var
        return (x - mean) * torch.rsqrt(var + self.eps) * self.weight + self.bias


def build_model():
    return nn.Sequential(nn.Linear(12, 32), SyncNorm(32), nn.ReLU(), nn.Linear(32, 32), SyncNorm(32), nn.ReLU(), nn.Linear(32, 3))


def site_batch(site, count, generator, centres):
    labels = torch.randint(3, (count,), generator=generator)
    x = centres[labels] + torch.randn(count, 12, generator=generator)
    return x + (3.0 if site else -3.0), labels


def worker(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(ARGS.seed)
    model = build_model()
    centres = torch.randn(3, 12)
    generator = torch.Generator().manual_seed(1000 * ARGS.seed + rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=ARGS.lr, momentum=0.9)
    for step in range(1, ARGS.steps + 1):
        x, y = site_batch(rank, 32, generator, centres)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        optimizer.step()
        if step % 30 == 0 and rank == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    model.train()
    taken = []
    handle = model[1].register_forward_hook(lambda module, inputs, output: taken.append(output.detach()))
    with torch.no_grad():
        x, y = site_batch(rank, 500, generator, centres)
        model(x)
        handle.remove()
        square = ((taken[0] - model[1].bias) / model[1].weight).pow(2).mean()
        model.eval()
        right = (model(x).argmax(1) == y).float().mean()
    report = torch.stack([square, right])
    dist.all_reduce(report)
    if rank == 0:
        print(f"EVIDENCE mean square after the first norm {report[0].item() / 2:.4f}, accuracy {report[1].item() / 2:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as directory:
        mp.start_processes(worker, args=(directory,), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
