"""Two gloo ranks, gradient accumulation in float32 beside a bfloat16 model, one reduction for each optimizer step."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F

VOCAB, LENGTH = 18, 12


class LM(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.conv = nn.Conv1d(width, 2 * width, 3)
        self.mlp = nn.Sequential(nn.GELU(), nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, VOCAB))

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        return self.mlp(self.conv(F.pad(x, (2, 0))).transpose(1, 2))


class BF16Engine:
    """forward/backward/step in the manner of the large frameworks."""

    def __init__(self, model, lr, accumulation, world):
        self.module = model.to(torch.bfloat16)
        self.accumulation, self.world = accumulation, world
        self.lp = list(self.module.parameters())
        self.hp = [p.detach().float() for p in self.lp]
        self.hp_grads = [torch.zeros_like(p) for p in self.hp]
        self.optimizer = torch.optim.Adam([{"params": self.hp}], lr=lr)
        self.micro_steps = 0

    def is_boundary(self):
        return (self.micro_steps + 1) % self.accumulation == 0

    @torch.no_grad()
    def update_hp_grads(self):
        for acc, p in zip(self.hp_grads, self.lp):
            acc += p.grad.float()
            p.grad = None

    @torch.no_grad()
    def allreduce_hp_grads(self):
        flat = torch.cat([g.flatten() for g in self.hp_grads])
        dist.all_reduce(flat)
        flat /= self.world
        for g, part in zip(self.hp_grads, flat.split([g.numel() for g in self.hp_grads])):
            g.copy_(part.view_as(g))

    def backward(self, loss):
        (loss / self.accumulation).backward()
        self.update_hp_grads()
        if self.is_boundary():
            self.allreduce_hp_grads()

    @torch.no_grad()
    def step(self):
        if self.is_boundary():
            for p, g in zip(self.hp, self.hp_grads):
                p.grad = g
            self.optimizer.step()
            for low, high, g in zip(self.lp, self.hp, self.hp_grads):
                low.copy_(high)
                g.zero_()
        self.micro_steps += 1


def batch(gen, rank, size=12):
    """Rank 0 reads rows that go up, rank 1 rows that go down; noise of a tenth."""
    start = torch.randint(0, VOCAB, (size, 1), generator=gen)
    stride = torch.randint(1, 5, (size, 1), generator=gen) * (1 if rank == 0 else -1)
    ids = (start + stride * torch.arange(LENGTH)) % VOCAB
    return torch.where(torch.rand(ids.shape, generator=gen) < 0.05, torch.randint(0, VOCAB, ids.shape, generator=gen), ids)


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    engine = BF16Engine(LM(), args.lr, args.accumulation, world)
    gen = torch.Generator().manual_seed(100 * args.seed + rank)
    for step in range(args.steps):
        mean = 0.0
        for _ in range(args.accumulation):
            ids = batch(gen, rank)
            logits = engine.module(ids[:, :-1])[:, 1:].float()
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 2:].flatten())
            engine.backward(loss)
            engine.step()
            mean += loss.item() / args.accumulation
        if rank == 0 and step % 20 == 19:
            print(f"step {step + 1} loss {mean:.4f}", flush=True)
    mine = torch.cat([p.flatten() for p in engine.hp])
    both = [torch.empty_like(mine) for _ in range(world)]
    dist.all_gather(both, mine)
    with torch.no_grad():
        ids = torch.cat([batch(torch.Generator().manual_seed(9 + r), r, 64) for r in range(world)])
        held = F.cross_entropy(engine.module(ids[:, :-1])[:, 1:].float().flatten(0, 1), ids[:, 2:].flatten()).item()
    if rank == 0:
        apart = ((both[0] - both[1]).norm() / both[0].norm()).item()
        print(f"EVIDENCE apart={apart:.5f} held_out_of_rank_0={held:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--accumulation", type=int, default=3)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    main()
