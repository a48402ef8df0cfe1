"""Two gloo workers train a recommender tower; gradients travel as top-k values with error feedback."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn

USERS, ITEMS, DIM = 300, 200, 16


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(USERS, DIM)
        self.item = nn.Embedding(ITEMS, DIM)
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)
        self.bias = nn.Parameter(torch.zeros(1))
        self.mix = nn.Sequential(nn.Linear(2 * DIM, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, u, i):
        u, i = self.user(u), self.item(i)
        return self.mix(torch.cat([u, i], 1)).squeeze(1) + (u * i).sum(1) + self.bias


class TopKReducer:
    """Deep gradient compression: send the largest entries, remember what was not sent."""

    def __init__(self, params, ratio, world):
        self.params = [p for p in params if p.requires_grad]
        self.ratio, self.world = ratio, world
        self.residual = [torch.zeros(p.numel()) for p in self.params]
        self.sent = 0.0

    def compress(self, acc):
        k = max(1, int(acc.numel() * self.ratio))
        keep = acc.abs().topk(k).indices
        mask = torch.zeros_like(acc, dtype=torch.bool)
        mask[keep] = True
        return mask

    def reduce(self):
        for n, p in enumerate(self.params):
            acc = p.grad.detach().flatten() + self.residual[n]
            mask = self.compress(acc)
            message = acc.clone()
            message[~mask] = 0.0
            self.residual[n] = acc - message
            dist.all_reduce(message)
            p.grad.copy_(message.view_as(p) / self.world)

    def pending(self):
        return sum(r.abs().sum().item() for r in self.residual)


def ratings(seed, n):
    g = torch.Generator().manual_seed(seed)
    pu, qi = torch.randn(USERS, 4, generator=g), torch.randn(ITEMS, 4, generator=g)
    bu, bi = 0.5 * torch.randn(USERS, generator=g), 0.5 * torch.randn(ITEMS, generator=g)
    u = torch.randint(0, USERS, (n,), generator=g)
    # popular items are rated more often
    i = (ITEMS * torch.rand(n, generator=g) ** 1.7).long()
    r = (pu[u] * qi[i]).sum(1) * 0.6 + bu[u] + bi[i] + 0.2 * torch.randn(n, generator=g)
    return u, i, r + 3.0


def worker(rank, world, port, args):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = Tower()
    u, i, r = ratings(args.seed + 17, 24000)
    held = slice(20000, None)
    mine = torch.arange(rank, 20000, world)

    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    reducer = TopKReducer(model.parameters(), args.ratio, world)
    order = torch.Generator().manual_seed(args.seed * 31 + rank)
    average = 0.0
    for step in range(args.steps):
        idx = mine[torch.randint(0, len(mine), (256,), generator=order)]
        loss = nn.functional.mse_loss(model(u[idx], i[idx]), r[idx])
        opt.zero_grad()
        loss.backward()
        reducer.reduce()
        opt.step()
        average = 0.98 * average + 0.02 * loss.item() if step else loss.item()
        if rank == 0 and (step + 1) % max(1, args.steps // 6) == 0:
            print(f"step {step + 1:5d}  loss {average:.4f}", flush=True)

    model.eval()
    with torch.no_grad():
        error = (model(u[held], i[held]) - r[held]).square().mean().sqrt()
        rare = i[held] > 150
        error_rare = (model(u[held], i[held]) - r[held])[rare].square().mean().sqrt()
    if rank == 0:
        print(f"EVIDENCE held-out rmse {error.item():.4f} on rare items {error_rare.item():.4f} waiting {reducer.pending():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("--seed", type=int, default=0)
    cli.add_argument("--lr", type=float, default=0.3)
    cli.add_argument("--steps", type=int, default=450)
    cli.add_argument("--ratio", type=float, default=0.02)
    args = cli.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(2, port, args), nprocs=2)
