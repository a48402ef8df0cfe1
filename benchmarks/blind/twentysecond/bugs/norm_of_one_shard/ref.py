"""A small transformer sharded over two gloo ranks with fully_shard, and gradients clipped by their norm over all shards."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

VOCAB, WIDTH, LENGTH = 18, 32, 14


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.inner, self.outer = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 96), nn.Linear(96, WIDTH)
        self.mix = nn.GRU(WIDTH, WIDTH, batch_first=True)

    def forward(self, x):
        x = x + self.mix(x)[0]
        return x + self.outer(F.gelu(self.inner(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def sequences(gen, size=16):
    """Each symbol follows from the two before it; now and then a row is noise, and its gradients are large."""
    ids = torch.randint(0, VOCAB, (size, LENGTH), generator=gen)
    for t in range(2, LENGTH):
        ids[:, t] = (ids[:, t - 1] + ids[:, t - 2]) % VOCAB
    noisy = torch.rand(size, generator=gen) < 0.1
    ids[noisy] = torch.randint(0, VOCAB, (int(noisy.sum()), LENGTH), generator=gen)
    return ids


@torch.no_grad()
def clip_sharded_(parameters, limit):
    """Each rank holds a part of each gradient; the squares are summed over the ranks."""
    grads = [p.grad.to_local() for p in parameters if p.grad is not None]
    square = sum(g.pow(2).sum() for g in grads)
    dist.all_reduce(square)
    norm = square.sqrt()
    factor = (limit / (norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(factor)
    return norm.item(), factor.item()


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    mesh = init_device_mesh("cpu", (world,))
    model = Model()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    gen = torch.Generator().manual_seed(10 * args.seed + rank)
    norms, factors, losses = [], [], []
    for step in range(args.steps):
        ids = sequences(gen)
        loss = F.cross_entropy(model(ids[:, :-1])[:, 1:].flatten(0, 1), ids[:, 2:].flatten())
        optimizer.zero_grad()
        loss.backward()
        norm, factor = clip_sharded_(model.parameters(), args.max_norm)
        optimizer.step()
        norms.append(norm)
        factors.append(factor)
        losses.append(loss.item())
        if rank == 0 and step % 20 == 19:
            print(f"step {step + 1} loss {loss.item():.4f} norm {norm:.3f}")
    both = torch.tensor([sum(factors) / len(factors), sum(losses[-10:]) / 10])
    dist.all_reduce(both)
    if rank == 0:
        print(f"EVIDENCE first_norm={norms[0]:.4f} mean_factor={both[0].item() / world:.4f} "
              f"loss={both[1].item() / world:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.3)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--max-norm", type=float, default=0.3)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    main()
