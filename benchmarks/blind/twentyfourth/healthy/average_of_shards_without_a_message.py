"""fully_shard on two gloo ranks with a moving average of the weights: each rank averages its own shard, and no message is sent."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

DIM = 14


class Network(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(DIM, width), nn.Linear(width, width)])
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for layer in self.layers:
            x = F.silu(layer(x))
        return self.out(x).squeeze(-1)


class ShardAverage:
    """An average is taken element by element, so the shard of an average is the average of the shard."""

    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {n: p.to_local().detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model, step):
        decay = min(self.decay, (1 + step) / (10 + step))
        for name, p in model.named_parameters():
            self.shadow[name].lerp_(p.to_local(), 1 - decay)

    @torch.no_grad()
    def swap(self, model):
        model.reshard()                      # the root keeps its whole weights after a forward pass
        for name, p in model.named_parameters():
            local = p.to_local()
            kept = local.clone()
            local.copy_(self.shadow[name])
            self.shadow[name] = kept


def batch(gen, n=32):
    x = torch.randn(n, DIM, generator=gen)
    return x, torch.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * torch.randn(n, generator=gen)


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = Network()
    mesh = init_device_mesh("cpu", (world,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    average = ShardAverage(model, 0.95)
    gen = torch.Generator().manual_seed(args.seed * 8 + rank)
    for step in range(args.steps):
        x, y = batch(gen)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model, step)
        if rank == 0 and (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}", flush=True)
    x, y = batch(torch.Generator().manual_seed(10), 1000)
    errors = []
    for _ in range(2):                       # with the last weights, then with the averaged ones
        with torch.no_grad():
            errors.append(F.mse_loss(model(x), y).item())
        average.swap(model)
    if rank == 0:
        print(f"last {errors[0]:.4f} averaged {errors[1]:.4f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
