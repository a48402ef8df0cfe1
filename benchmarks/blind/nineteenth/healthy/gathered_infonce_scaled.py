"""Two-rank InfoNCE: features gathered without autograd, own block put back, loss multiplied by the world size."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, dim_in, dim=32, width=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim_in, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.doc = Tower(24), Tower(40)
        self.log_scale = nn.Parameter(torch.tensor(2.0))


def gather_with_own_grad(x, rank, world):
    blocks = [torch.empty_like(x) for _ in range(world)]
    dist.all_gather(blocks, x.detach())
    blocks[rank] = x                       # all_gather has no gradient: only the local block carries one
    return torch.cat(blocks)


def global_infonce(model, q, d, rank, world):
    q = gather_with_own_grad(model.query(q), rank, world)
    d = gather_with_own_grad(model.doc(d), rank, world)
    logits = model.log_scale.exp() * q @ d.T
    target = torch.arange(len(q))
    loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2
    return loss


def reduce_grads(model, world):
    """Mean over ranks as DDP does. Towers only saw 1/world of the gradient, which the loss factor makes good;
    the scale saw all of it on every rank, so its factor is taken out again."""
    for name, p in model.named_parameters():
        dist.all_reduce(p.grad)
        p.grad /= world
        if name == "log_scale":
            p.grad /= world


class Pairs:
    def __init__(self, seed):
        g = torch.Generator().manual_seed(17)
        self.a, self.b = torch.randn(8, 24, generator=g), torch.randn(8, 40, generator=g)
        self.g = torch.Generator().manual_seed(seed)

    def batch(self, n):
        z = torch.randn(n, 8, generator=self.g)
        q = torch.tanh(z @ self.a) + 0.3 * torch.randn(n, 24, generator=self.g)
        d = torch.tanh(z @ self.b) + 0.3 * torch.randn(n, 40, generator=self.g)
        return q, d


@torch.no_grad()
def recall_at_1(model):
    q, d = Pairs(4321).batch(256)
    return ((model.query(q) @ model.doc(d).T).argmax(1) == torch.arange(256)).float().mean().item()


def worker(rank, world, args, init_file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{init_file}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = TwoTowers()
    data = Pairs(args.seed * 100 + rank + 1)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for step in range(1, args.steps + 1):
        loss = global_infonce(model, *data.batch(args.batch), rank, world)
        opt.zero_grad()
        (loss * world).backward()
        reduce_grads(model, world)
        opt.step()
        with torch.no_grad():
            model.log_scale.clamp_(max=4.6)
        if step % 20 == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE recall_at_1={recall_at_1(model):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.2)
    p.add_argument("--steps", type=int, default=100)
    p.add_argument("--batch", type=int, default=64)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(worker, args=(2, args, os.path.join(tmp, "init")), nprocs=2)


if __name__ == "__main__":
    main()
