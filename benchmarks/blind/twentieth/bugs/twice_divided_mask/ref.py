"""Rainfall nowcasting on a small grid: gauges fail at random, so the loss is a mean over the valid cells of all ranks."""
import argparse
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Nowcaster(nn.Module):
    def __init__(self, frames=3, width=12):
        super().__init__()
        self.enc = nn.Conv2d(frames, width, 3, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.dec = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        x = torch.relu(self.enc(x))
        return self.dec(x + torch.relu(self.mid(x))).squeeze(1)


def radar_batch(n, gen, size=12):
    """A blob that drifts to the right; the fourth frame is the target."""
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx, cy = 2 + 5 * torch.rand(n, generator=gen), 2 + 8 * torch.rand(n, generator=gen)
    frames = [torch.exp(-((xx - (cx + t)[:, None, None]) ** 2 + (yy - cy[:, None, None]) ** 2) / 4) for t in range(4)]
    valid = torch.rand(n, size, size, generator=gen) < 0.4 + 0.5 * torch.rand((), generator=gen)
    return torch.stack(frames[:3], 1), frames[3], valid.float()


def reduce_metrics(loss_sum, cells):
    """Totals over all ranks for the log and the skip guard."""
    both = torch.stack([loss_sum.detach(), cells])
    dist.all_reduce(both)
    return both[0], both[1]


def grad_vector(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def entry(rank, world, port, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    net = DDP(Nowcaster())
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    gen = torch.Generator().manual_seed(args.seed + 1000 * rank)
    ratio = []
    for step in range(args.steps):
        past, target, valid = radar_batch(args.batch, gen)
        loss_sum = ((net(past) - target) ** 2 * valid).sum()
        cells = valid.sum()
        all_loss, all_cells = reduce_metrics(loss_sum, cells)
        if all_cells < 1:
            continue
        loss = loss_sum * world / all_cells
        opt.zero_grad()
        loss.backward()
        if step % 20 == 0:
            inner = net.module
            again = ((inner(past) - target) ** 2 * valid).sum()
            exact = torch.cat([g.flatten() for g in torch.autograd.grad(again, list(inner.parameters()))])
            dist.all_reduce(exact)
            ratio.append((grad_vector(inner).norm() / (exact / all_cells).norm()).item())
            if rank == 0:
                print(f"step {step} mse {all_loss.item() / all_cells.item():.5f}", flush=True)
        opt.step()
    if rank == 0:
        print(f"EVIDENCE gradient_over_global_mean={sum(ratio) / len(ratio):.4f}", flush=True)
    dist.destroy_process_group()


def find_port():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    return port


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--batch", type=int, default=16)
    args = ap.parse_args()
    mp.start_processes(entry, args=(2, find_port(), args), nprocs=2, start_method="spawn")
