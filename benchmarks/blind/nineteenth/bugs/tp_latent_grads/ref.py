"""Tensor parallel latent attention by hand (two ranks, heads split) on associative recall."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

KEYS, VALUES = 16, 16
BLANK = VALUES           # value of the query token


class CopyToRanks(torch.autograd.Function):
    """Identity forward, sum over ranks backward (entry of a parallel region)."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad)
        return grad


class SumOverRanks(torch.autograd.Function):
    """Sum over ranks forward, identity backward (exit of a parallel region)."""

    @staticmethod
    def forward(ctx, x):
        x = x.contiguous().clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def replicated(tensor):
    """Same values on every rank, but its gradient only covers the heads of this rank."""
    p = nn.Parameter(tensor)
    p.partial_grad = True
    return p


class LatentAttention(nn.Module):
    """Keys and values come from a small normalised latent that all heads share (as in MLA)."""

    def __init__(self, dim, heads, latent, rank, world):
        super().__init__()
        self.local_heads, self.head_dim = heads // world, dim // heads
        width = self.local_heads * self.head_dim
        mine = slice(rank * width, (rank + 1) * width)
        full_q, full_out = torch.randn(dim, dim) * dim ** -0.5, torch.randn(dim, dim) * dim ** -0.5
        full_kv = torch.randn(2, dim, latent) * latent ** -0.5
        self.kv_down = replicated(torch.randn(latent, dim) * dim ** -0.5)
        self.kv_gain = replicated(torch.ones(latent))
        self.q = nn.Parameter(full_q[mine].clone())
        self.kv_up = nn.Parameter(full_kv[:, mine].clone())
        self.out = nn.Parameter(full_out[:, mine].clone())

    def split(self, x):
        return x.unflatten(2, (self.local_heads, self.head_dim)).transpose(1, 2)

    def forward(self, x):
        x = CopyToRanks.apply(x)
        latent = F.rms_norm(F.linear(x, self.kv_down), self.kv_gain.shape) * self.kv_gain
        q, k, v = F.linear(x, self.q), F.linear(latent, self.kv_up[0]), F.linear(latent, self.kv_up[1])
        y = F.scaled_dot_product_attention(self.split(q), self.split(k), self.split(v), is_causal=True)
        return SumOverRanks.apply(F.linear(y.transpose(1, 2).flatten(2), self.out))


class RecallModel(nn.Module):
    def __init__(self, rank, world, dim=64, heads=4, latent=24, layers=2):
        super().__init__()
        self.key, self.value = nn.Embedding(KEYS, dim), nn.Embedding(VALUES + 1, dim)
        self.attn = nn.ModuleList(LatentAttention(dim, heads, latent, rank, world) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(layers + 1))
        self.head = nn.Linear(dim, VALUES)

    def forward(self, keys, values):
        h = self.key(keys) + self.value(values)
        for norm, attn in zip(self.norms, self.attn):
            h = h + attn(norm(h))
        return self.head(self.norms[-1](h[:, -1]))


def recall_batch(size, g, pairs=8):
    keys = torch.stack([torch.randperm(KEYS, generator=g)[:pairs] for _ in range(size)])
    values = torch.randint(0, VALUES, (size, pairs), generator=g)
    pick = torch.randint(0, pairs, (size, 1), generator=g)
    target = values.gather(1, pick).squeeze(1)
    keys = torch.cat([keys, keys.gather(1, pick)], 1)
    values = torch.cat([values, torch.full((size, 1), BLANK)], 1)
    return keys, values, target


def finalize_grads(model):
    for p in model.parameters():
        if getattr(p, "partial_grad", False):
            dist.all_reduce(p.grad)


def export_replicated(model):
    """The checkpoint holds one copy of what is replicated: that of rank 0."""
    for name, p in model.named_parameters():
        if not name.endswith((".q", ".kv_up", ".out")):
            dist.broadcast(p.data, src=0)


@torch.no_grad()
def evaluate(model, seed):
    g = torch.Generator().manual_seed(seed)
    keys, values, target = recall_batch(512, g)
    logits = model(keys, values)
    return F.cross_entropy(logits, target).item(), (logits.argmax(1) == target).float().mean().item()


def worker(rank, world, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = RecallModel(rank, world)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    g = torch.Generator().manual_seed(args.seed + 77)
    for step in range(1, args.steps + 1):
        keys, values, target = recall_batch(args.batch, g)
        loss = F.cross_entropy(model(keys, values), target)
        opt.zero_grad()
        loss.backward()
        finalize_grads(model)
        opt.step()
        if step % 20 == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    export_replicated(model)
    val_loss, acc = evaluate(model, 4242)
    if rank == 0:
        print(f"EVIDENCE recall_loss={val_loss:.4f} recall_accuracy={acc:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=6e-3)
    p.add_argument("--steps", type=int, default=90)
    p.add_argument("--batch", type=int, default=64)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(worker, args=(2, args, os.path.join(tmp, "init")), nprocs=2)


if __name__ == "__main__":
    main()
