"""Post-local SGD on two ranks: DDP with gradients sent in bfloat16 at first, then each rank learns alone under
no_sync and weights are averaged ever more seldom, momentum and norm statistics with them."""
import argparse
import contextlib
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(3, 24, 5, padding=2), nn.BatchNorm1d(24), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(24, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        )
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.body(x))


def motions(n, gen, base):
    """Three axes of an accelerometer, one of eight motions."""
    y = torch.randint(0, len(base), (n,), generator=gen)
    t = torch.arange(48) / 48
    speed = base[y, :3].unsqueeze(-1) * (0.9 + 0.2 * torch.rand(n, 1, 1, generator=gen))
    x = torch.sin(6.28 * (speed * t + torch.rand(n, 1, 1, generator=gen))) * base[y, 3:].unsqueeze(-1)
    return x + 0.8 * torch.randn(x.shape, generator=gen), y


@torch.no_grad()
def average_everything(model, opt, world):
    tensors = [p.data for p in model.parameters()]
    tensors += [s["momentum_buffer"] for s in opt.state.values() if s.get("momentum_buffer") is not None]
    tensors += [b for b in model.buffers() if b.is_floating_point()]
    flat = torch.cat([t.reshape(-1) for t in tensors])
    dist.all_reduce(flat)
    flat /= world
    for t, part in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(part.view_as(t))


def gap(model, world):
    vec = nn.utils.parameters_to_vector(model.parameters()).detach()
    mean = vec.clone()
    dist.all_reduce(mean)
    return (vec - mean / world).norm().item()


def worker(rank, world, port, args):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed + 1000 * rank)  # DDP sends rank 0's weights to the other
    gen = torch.Generator().manual_seed(args.seed)
    base = torch.rand(8, 6, generator=gen) * torch.tensor([6.0, 6, 6, 1, 1, 1]) + 0.5
    x, y = motions(4000, gen, base)
    x_test, y_test = motions(1500, gen, base)
    # parts are of unlike size on purpose: 60 and 40 per cent
    cut = 2400
    mine = torch.arange(cut) if rank == 0 else torch.arange(cut, 4000)

    ddp = DistributedDataParallel(Net(8), broadcast_buffers=False)
    ddp.register_comm_hook(None, default_hooks.bf16_compress_hook)
    net = ddp.module
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=max(1, args.steps), power=1.0)
    together = args.steps // 3
    period, last, averages = 2, together, 0
    for step in range(args.steps):
        idx = mine[torch.randint(0, len(mine), (48,))]
        xb = x[idx] + 0.1 * torch.randn(48, 3, 48)
        alone = step >= together
        with ddp.no_sync() if alone else contextlib.nullcontext():
            loss = F.cross_entropy(ddp(xb), y[idx], label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
        opt.step()
        schedule.step()
        if alone and step + 1 - last >= period:
            if rank == 0 and averages % 4 == 0:
                print(f"step {step + 1:4d}  loss {loss.item():.4f}  period {period}", flush=True)
            distance = gap(net, world)
            average_everything(net, opt, world)
            last, averages = step + 1, averages + 1
            # once the ranks stay close they may go on alone for longer; both see the same distance
            if averages % 6 == 0:
                period = min(16, period * 2)
            if rank == 0 and averages % 8 == 0:
                print(f"           ranks were {distance:.4f} apart", flush=True)
    average_everything(net, opt, world)
    net.eval()
    with torch.no_grad():
        half = slice(rank, None, world)
        right = (net(x_test[half]).argmax(1) == y_test[half]).sum().float()
    dist.all_reduce(right)
    if rank == 0:
        print(f"EVIDENCE accuracy {right.item() / len(x_test):.4f} averages {averages}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("--seed", type=int, default=0)
    cli.add_argument("--lr", type=float, default=0.05)
    cli.add_argument("--steps", type=int, default=330)
    args = cli.parse_args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(2, port, args), nprocs=2)
