"""A server and a worker, both compute; the server alone steps."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.01), ("--steps", int, 100)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


@torch.no_grad()
def spread(vector, tensors):
    start = 0
    for t in tensors:
        t.copy_(vector[start:start + t.numel()].view_as(t))
        start += t.numel()


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x = torch.randn(640, 8)
    y = (x[:, :4] * x[:, 4:]).sum(1).tanh()
    torch.manual_seed(args.seed * 7 + 100 * rank + 1)
    model = nn.Sequential(nn.Linear(8, 48), nn.SiLU(), nn.Linear(48, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr) if rank == 0 else None
    for step in range(1, args.steps + 1):
        weights = flat([p.detach() for p in model.parameters()])
        dist.broadcast(weights, src=0)
        spread(weights, list(model.parameters()))
        rows = torch.randint(256, (32,)) + 256 * rank
        loss = nn.functional.mse_loss(model(x[rows]).squeeze(1), y[rows])
        model.zero_grad()
        loss.backward()
        gradient = flat([p.grad for p in model.parameters()]) / 2
        dist.reduce(gradient, dst=0)
        if rank == 0:
            spread(gradient, [p.grad for p in model.parameters()])
            optimizer.step()
            if step % 25 == 0:
                with torch.no_grad():
                    error = nn.functional.mse_loss(model(x[512:]).squeeze(1), y[512:]).item()
                print(f"step {step}: loss {loss.item():.4f}, error {error:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
