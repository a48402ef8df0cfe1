"""A tagger of long signals. Two gloo ranks share each signal: every rank holds one half of it, keys and values are gathered."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.nn.functional import all_gather
from torch.nn.parallel import DistributedDataParallel

LENGTH, WIDTH, HEADS, TAGS = 48, 32, 4, 3


class SharedAttention(nn.Module):
    """Queries are those of the own half, keys and values those of the whole signal."""

    def __init__(self, group):
        super().__init__()
        self.group = group
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        kv = torch.cat(all_gather(torch.cat([k, v], dim=-1), group=self.group), dim=1)
        k, v = kv.chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in (q, k, v))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Tagger(nn.Module):
    def __init__(self, sp_group):
        super().__init__()
        self.inp = nn.Linear(2, WIDTH)
        self.places = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.3)
        self.attention = nn.ModuleList(SharedAttention(sp_group) for _ in range(2))
        self.mlp = nn.ModuleList(nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH)) for _ in range(2))
        self.head = nn.Linear(WIDTH, TAGS)

    def forward(self, x, start):
        h = self.inp(x) + self.places[start:start + x.shape[1]]
        for attention, mlp in zip(self.attention, self.mlp):
            h = h + attention(F.layer_norm(h, (WIDTH,)))
            h = h + mlp(h)
        return self.head(h)


def signals(gen, count=16):
    """A step is tagged by its value, and by where the signal has its marker."""
    values = torch.randn(count, LENGTH, generator=gen)
    marker = torch.zeros(count, LENGTH)
    where = torch.randint(0, LENGTH, (count,), generator=gen)
    marker[torch.arange(count), where] = 3.0
    late = torch.arange(LENGTH)[None] > where[:, None]
    return torch.stack([values, marker], dim=-1), torch.where(late, 2, (values > 0).long())


def main(rank, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=args.dp * args.sp)
    mesh = init_device_mesh("cpu", (args.dp, args.sp), mesh_dim_names=("dp", "sp"))
    mesh["dp", "sp"]._flatten("dp_sp")
    dp_rank, sp_rank = mesh["dp"].get_local_rank(), mesh["sp"].get_local_rank()
    torch.manual_seed(args.seed)
    tagger = Tagger(mesh["sp"].get_group())
    model = DistributedDataParallel(tagger, process_group=mesh["dp_sp"].get_group())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(100 * args.seed + dp_rank)
    part = LENGTH // args.sp
    for step in range(args.steps):
        x, tags = signals(gen)
        mine = slice(sp_rank * part, (sp_rank + 1) * part)
        logits = model(x[:, mine], sp_rank * part)
        loss = F.cross_entropy(logits.flatten(0, 1), tags[:, mine].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    head = tagger.head.weight.detach().clone()
    dist.all_reduce(head)
    apart = (tagger.head.weight.detach() - head / dist.get_world_size()).norm().item()
    for tensor in tagger.state_dict().values():  # what is served is the checkpoint of rank 0
        dist.broadcast(tensor, src=0)
    x, tags = signals(torch.Generator().manual_seed(5), 64)
    with torch.no_grad():
        right = (tagger(x[:, mine], sp_rank * part).argmax(-1) == tags[:, mine]).float().mean()
    dist.all_reduce(right)
    if rank == 0:
        print(f"EVIDENCE head_apart={apart:.5f} accuracy={right.item() / dist.get_world_size():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=70)
    ap.add_argument("--dp", type=int, default=1)
    ap.add_argument("--sp", type=int, default=2)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(args, os.path.join(folder, "store")), nprocs=args.dp * args.sp)
