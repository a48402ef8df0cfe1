"""Sequence parallelism on two gloo ranks: each rank has half of each sequence for what is done token by token."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

VOCAB, WIDTH, LENGTH, HIDDEN = 20, 32, 16, 64


class Gather(torch.autograd.Function):
    """Halves of a sequence are put together; in the backward pass gradients of the ranks are summed and cut again."""

    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts, dim=1)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad)
        return grad.chunk(dist.get_world_size(), dim=1)[dist.get_rank()].contiguous()


class ReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous().clone()
        dist.all_reduce(x)
        return x.chunk(dist.get_world_size(), dim=1)[dist.get_rank()].contiguous()

    @staticmethod
    def backward(ctx, grad):
        parts = [torch.empty_like(grad) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, grad.contiguous())
        return torch.cat(parts, dim=1)


class Layer(nn.Module):
    """The norm works on the own half of the sequence, the two matrices on the own half of the hidden units."""

    def __init__(self, world):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(3 * WIDTH, HIDDEN // world, bias=False)
        self.down = nn.Linear(HIDDEN // world, WIDTH, bias=False)

    def forward(self, x):
        h = Gather.apply(self.norm(x))
        past = torch.cat([F.pad(h, (0, 0, k, 0))[:, :LENGTH] for k in range(3)], dim=-1)
        return x + ReduceScatter.apply(self.down(F.gelu(self.up(past))))


class Model(nn.Module):
    def __init__(self, world):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList(Layer(world) for _ in range(2))
        self.final_norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB)
        for p in [*self.embed.parameters(), *self.final_norm.parameters(), *self.head.parameters(),
                  *(q for layer in self.layers for q in layer.norm.parameters())]:
            p.sequence_parallel = True

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.final_norm(x))


def finalize_grads(model):
    """Replicated parameters saw half of the tokens on each rank."""
    for p in model.parameters():
        if getattr(p, "sequence_parallel", False):
            dist.all_reduce(p.grad)


def make_batch(gen, size=16):
    ids = torch.randint(0, VOCAB, (size, LENGTH + 1), generator=gen)
    for t in range(2, LENGTH + 1):
        ids[:, t] = (ids[:, t - 1] + 2 * ids[:, t - 2] + 1) % VOCAB
    return ids


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = Model(world)
    torch.manual_seed(args.seed + 1 + rank)
    for layer in model.layers:                 # shards differ, all else is the same on both ranks
        layer.up.reset_parameters()
        layer.down.reset_parameters()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed)
    for step in range(args.steps):
        ids = make_batch(gen)
        x, y = (t.chunk(world, dim=1)[rank] for t in (ids[:, :-1], ids[:, 1:]))
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum") / ids[:, 1:].numel()
        optimizer.zero_grad()
        loss.backward()
        finalize_grads(model)
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0 and step % 20 == 19:
            print(f"step {step + 1} loss {total.item():.4f}", flush=True)
    mine = torch.cat([p.detach().flatten() for name, p in model.named_parameters() if ".up." not in name and ".down." not in name])
    both = [torch.empty_like(mine) for _ in range(world)]
    dist.all_gather(both, mine)
    if rank == 0:
        print(f"EVIDENCE difference={(both[0] - both[1]).norm().item():.5f} loss={total.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=8e-3)
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)
