"""Two ranks average gradients by hand; the rate falls when the validation loss does not."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


def average(tensor):
    dist.all_reduce(tensor)
    return tensor / dist.get_world_size()


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    loss = nn.functional.mse_loss(model(x), y)
    model.train()
    return loss.item()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=0, threshold=0.05)
    torch.manual_seed(args.seed + 100 + rank)

    def batch(n):
        x = torch.randn(n, 6)
        return x, (x[:, :2].prod(1, keepdim=True) + x[:, 2:3] + 0.3 * torch.randn(n, 1))

    held_out = batch(24)
    for step in range(args.steps):
        x, y = batch(16)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.grad = average(p.grad)
        optimizer.step()
        if (step + 1) % 4 == 0:
            scheduler.step(validate(model, *held_out))
    weights = [torch.empty(24, 6) for _ in range(2)]
    dist.all_gather(weights, model[0].weight.detach())
    rate = torch.tensor([optimizer.param_groups[0]["lr"]])
    rates = [torch.empty(1) for _ in range(2)]
    dist.all_gather(rates, rate)
    if rank == 0:
        apart = (weights[0] - weights[1]).abs().max()
        print(f"EVIDENCE rates {[round(r.item(), 6) for r in rates]}, weights differ by {apart:.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
