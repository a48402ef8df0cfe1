"""Defect detection on textile patches, DDP with batch norm; before the evaluation the statistics are computed precisely."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


class PatchNet(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, ch, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(ch)
        self.conv2, self.bn2 = nn.Conv2d(ch, ch, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(ch)
        self.cls = nn.Linear(ch, 2)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.cls(x.mean((2, 3)))


def weave(n, gen):
    """Stripes; every second patch has a bright knot."""
    phase = torch.rand(n, 1, 1, generator=gen) * 6.28
    grid = torch.arange(16).float()
    img = torch.sin(grid[None, None, :] * 1.3 + phase) + 0.2 * torch.randn(n, 16, 16, generator=gen)
    label = torch.arange(n) % 2
    spot = torch.randint(2, 13, (n,), generator=gen)
    for i in range(n):
        if label[i]:
            img[i, spot[i]:spot[i] + 3, spot[i]:spot[i] + 3] += 1.5
    return img[:, None] + 0.5, label


@torch.no_grad()
def update_bn_stats(model, batches):
    """Population statistics over all samples that any rank saw, weighted by the batch size."""
    bns = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    kept = [bn.momentum for bn in bns]
    sums = [torch.zeros(2, bn.num_features) for bn in bns]
    samples = torch.zeros(())
    for bn in bns:
        bn.momentum = 1.0
    model.train()
    for x in batches:
        model(x)
        samples += len(x)
        for total, bn in zip(sums, bns):
            total += torch.stack([bn.running_mean, bn.running_var]) * len(x)
    dist.all_reduce(samples)
    for total, bn, momentum in zip(sums, bns, kept):
        dist.all_reduce(total)
        bn.running_mean.copy_(total[0] / samples)
        bn.running_var.copy_(total[1] / samples)
        bn.momentum = momentum


def spread(model):
    stats = torch.cat([b.flatten() for n, b in model.named_buffers() if "running" in n])
    top, bottom = stats.clone(), stats.clone()
    dist.all_reduce(top, op=dist.ReduceOp.MAX)
    dist.all_reduce(bottom, op=dist.ReduceOp.MIN)
    return ((top - bottom).max() / stats.abs().mean()).item()


def process(rank, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
    torch.manual_seed(args.seed)
    net = DistributedDataParallel(PatchNet(), broadcast_buffers=False)
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    gen = torch.Generator().manual_seed(args.seed * 3 + rank)
    for step in range(args.steps):
        x, y = weave(24, gen)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if rank == 0 and step % 20 == 19:
            print(f"step {step + 1}: {loss.item():.4f}", flush=True)
    # bucketed by size: the second rank has smaller batches
    size = 32 if rank == 0 else 20
    update_bn_stats(net.module, [weave(size, gen)[0] for _ in range(6)])
    net.eval()
    x, y = weave(400, torch.Generator().manual_seed(99))
    with torch.no_grad():
        acc = (net.module(x).argmax(1) == y).float().mean().item()
    gap = spread(net.module)
    print(f"rank {rank} accuracy {acc:.3f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE bn_gap_between_ranks={gap:.5f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        mp.spawn(process, args=(args, os.path.join(tmp, "rendezvous")), nprocs=2)
