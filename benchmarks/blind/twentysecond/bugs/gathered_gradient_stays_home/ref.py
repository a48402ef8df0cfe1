"""Contrastive training of two towers on two gloo ranks; each rank scores its rows against the columns of both."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

CONCEPTS, VIEW_A, VIEW_B, CODE, BATCH = 40, 24, 18, 12, 16


class GatherLayer(torch.autograd.Function):
    """All ranks' rows. What each rank's loss says of my rows is added up on the way back."""

    @staticmethod
    def forward(ctx, mine):
        out = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
        dist.all_gather(out, mine)
        return tuple(out)

    @staticmethod
    def backward(ctx, *grads):
        total = torch.stack(grads)
        dist.all_reduce(total)
        return total[dist.get_rank()]


class Pairs:
    """Two noisy views of one concept; the ranks hold different concepts."""

    def __init__(self, rank, seed):
        fixed = torch.Generator().manual_seed(3)
        self.concepts = torch.randn(CONCEPTS, CODE, generator=fixed)
        self.to_a = torch.randn(CODE, VIEW_A, generator=fixed)
        self.to_b = torch.randn(CODE, VIEW_B, generator=fixed)
        self.mine = torch.arange(rank, CONCEPTS, 2)
        self.gen = torch.Generator().manual_seed(seed * 10 + rank)

    def view(self, which, gen):
        c = self.concepts[which] + 0.4 * torch.randn(len(which), CODE, generator=gen)
        return torch.tanh(c @ self.to_a / 3), torch.sin(c @ self.to_b / 3)

    def batch(self):
        return self.view(self.mine[torch.randperm(len(self.mine), generator=self.gen)[:BATCH]], self.gen)


def tower(n_in):
    return nn.Sequential(nn.Linear(n_in, 48), nn.ReLU(), nn.Linear(48, CODE))


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = tower(VIEW_A), tower(VIEW_B)
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, a, b):
        return F.normalize(self.a(a), dim=1), F.normalize(self.b(b), dim=1)


def local_loss(za, zb, log_scale):
    """Mean over my rows, against the columns of all ranks."""
    rank = dist.get_rank()
    all_a, all_b = torch.cat(GatherLayer.apply(za)), torch.cat(GatherLayer.apply(zb))
    labels = torch.arange(len(za)) + rank * len(za)
    scale = log_scale.exp()
    return (F.cross_entropy(scale * za @ all_b.T, labels) + F.cross_entropy(scale * zb @ all_a.T, labels)) / 2


def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


@torch.no_grad()
def check_gradient(model, pairs_of):
    """Gradient of one step against that of a single process with all rows."""
    grad = torch.cat([p.grad.flatten() for p in model.parameters()])
    a, b = (torch.cat(x) for x in zip(*pairs_of))
    with torch.enable_grad():
        za, zb = model(a, b)
        scale, labels = model.log_scale.exp(), torch.arange(len(a))
        whole = (F.cross_entropy(scale * za @ zb.T, labels) + F.cross_entropy(scale * zb @ za.T, labels)) / 2
        wanted = torch.cat([g.flatten() for g in torch.autograd.grad(whole, list(model.parameters()))])
    return (grad.norm() / wanted.norm()).item(), F.cosine_similarity(grad, wanted, dim=0).item()


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model, pairs = TwoTowers(), Pairs(rank, args.seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for step in range(args.steps):
        a, b = pairs.batch()
        loss = local_loss(*model(a, b), model.log_scale)
        optimizer.zero_grad()
        loss.backward()
        average_gradients(model)
        if step == 0:
            rows_a, rows_b = ([torch.zeros_like(x) for _ in range(world)] for x in (a, b))
            dist.all_gather(rows_a, a)
            dist.all_gather(rows_b, b)
            size, cosine = check_gradient(model, list(zip(rows_a, rows_b)))
        optimizer.step()
        if rank == 0 and step % 40 == 39:
            print(f"step {step + 1} loss {loss.item():.4f} scale {model.log_scale.exp().item():.2f}")
    if rank == 0:
        with torch.no_grad():
            za, zb = model(*pairs.view(torch.arange(CONCEPTS), torch.Generator().manual_seed(5)))
            found = ((za @ zb.T).argmax(1) == torch.arange(CONCEPTS)).float().mean().item()
        print(f"EVIDENCE gradient_size={size:.4f} cosine={cosine:.4f} loss={loss.item():.4f} found={found:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--steps", type=int, default=100)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    main()
