"""Summed loss over boxes of all ranks: the sum of each rank is multiplied by the world size, which undoes the mean of DDP."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def anchors(n, rank, gen):
    """Some images hold many boxes, others none."""
    feat = torch.randn(n, 12, 8, generator=gen)
    target = torch.stack([feat[..., 0] + feat[..., 1], feat[..., 2] * 0.5], -1)
    positive = torch.rand(n, 12, generator=gen) < (0.1 + 0.4 * rank)
    return feat, target, positive


class BoxHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 3))

    def forward(self, f):
        out = self.net(f)
        return out[..., :2], out[..., 2]


def worker(rank, world, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DDP(BoxHead())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    gen = torch.Generator().manual_seed(100 * args.seed + rank)
    for step in range(1, args.steps + 1):
        feat, target, positive = anchors(16, rank, gen)
        boxes, objectness = model(feat)
        weight = positive.float()
        box_sum = (nn.functional.smooth_l1_loss(boxes, target, reduction="none").sum(-1) * weight).sum()
        obj_sum = nn.functional.binary_cross_entropy_with_logits(objectness, weight, reduction="sum")
        num_pos = weight.sum()
        dist.all_reduce(num_pos)
        loss = (box_sum + 0.1 * obj_sum) * world / num_pos.clamp(min=1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shown = loss.detach().clone()
        dist.all_reduce(shown)
        if rank == 0 and step % 20 == 0:
            print(f"step {step} global loss {shown.item() / world:.4f} boxes {int(num_pos.item())}", flush=True)
    if rank == 0:
        print(f"RESULT loss={shown.item() / world:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--steps", type=int, default=80)
    args = p.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(s.getsockname()[1]))
    mp.spawn(worker, args=(2, args), nprocs=2)
