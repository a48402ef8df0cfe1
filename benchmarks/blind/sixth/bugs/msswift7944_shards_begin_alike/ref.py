"""Two ranks share a network by tensor parallelism: the first layer is split by columns, the second by rows."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
FEATURES, WIDTH, CLASSES = 12, 32, 4


class SumOfParts(torch.autograd.Function):
    """Adds up over the ranks; each gets the whole gradient."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class SplitPerceptron(nn.Module):
    """Each rank holds a part of the hidden units."""

    def __init__(self, rank, world, seed):
        super().__init__()
        generator = torch.Generator().manual_seed(seed + 1 + rank)
        part = WIDTH // world
        self.into = nn.Linear(FEATURES, part)
        self.out = nn.Linear(part, CLASSES, bias=False)
        self.bias = nn.Parameter(torch.zeros(CLASSES))
        with torch.no_grad():
            self.into.weight.normal_(0, FEATURES ** -0.5, generator=generator)
            self.into.bias.normal_(0, 0.1, generator=generator)
            self.out.weight.normal_(0, WIDTH ** -0.5, generator=generator)

    def forward(self, x):
        return SumOfParts.apply(self.out(self.into(x).relu())) + self.bias


def data(generator, truth, count):
    x = torch.randn(count, FEATURES, generator=generator)
    return x, (x @ truth).argmax(1)


def apart(weight):
    parts = [torch.empty_like(weight) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, weight.detach().contiguous())
    return (parts[0] - parts[1]).norm().item()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    truth = torch.randn(FEATURES, CLASSES, generator=generator)
    model = SplitPerceptron(rank, dist.get_world_size(), args.seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for step in range(1, args.steps + 1):
        x, y = data(generator, truth, 32)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    difference = apart(model.into.weight)
    if rank == 0:
        print(f"EVIDENCE the parts of the first layer differ by {difference:.4f}, loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
