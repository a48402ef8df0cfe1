"""Heating load of houses, DDP; the epoch metric is a sample weighted mean that is synchronised over the ranks."""
import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset


def make_houses(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 8, generator=g)
    load = 20 * x[:, 0] * (1 - x[:, 1]) + 8 * torch.sqrt(x[:, 2]) + 3 * x[:, 3] + torch.randn(n, generator=g) * 0.3
    return x, load


class LoadNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 64), nn.Linear(64, 64)])
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x).squeeze(1)


def mean_sync(t):
    """Mean over the ranks, in place; gloo has no AVG."""
    dist.all_reduce(t, op=dist.ReduceOp.SUM)
    t.copy_(t / dist.get_world_size())
    return t


class EpochMean:
    """Weighted mean of a logged value, e.g. of the error per batch."""

    def __init__(self):
        self.value = torch.tensor(0.0)
        self.cumulated_batch_size = torch.tensor(0.0)

    def update(self, value, batch_size):
        self.value += value.detach() * batch_size
        self.cumulated_batch_size += batch_size

    def compute(self):
        return (mean_sync(self.value.clone()) / mean_sync(self.cumulated_batch_size.clone())).item()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    metric, exact = EpochMean(), torch.zeros(2, dtype=torch.float64)
    for xb, yb in loader:
        err = (model(xb) - yb).abs()
        metric.update(err.mean(), len(yb))
        exact += torch.tensor([err.sum().item(), len(yb)], dtype=torch.float64)
    dist.all_reduce(exact)
    model.train()
    return metric.compute(), (exact[0] / exact[1]).item()


def main_worker(rank, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{args.store}", rank=rank, world_size=2)
    torch.manual_seed(args.seed)
    x, y = make_houses(640, args.seed)
    train = DataLoader(TensorDataset(x[rank::2], y[rank::2]), batch_size=32, shuffle=True, drop_last=True)
    vx, vy = make_houses(9, args.seed + 50)
    part = slice(0, 5) if rank == 0 else slice(5, 9)
    val = DataLoader(TensorDataset(vx[part], vy[part]), batch_size=2)

    model = DDP(LoadNet())
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=3)
    step, logged, exact = 0, 0.0, 1.0
    while step < args.steps:
        for xb, yb in train:
            opt.zero_grad()
            loss = nn.functional.smooth_l1_loss(model(xb), yb)
            loss.backward()
            opt.step()
            step += 1
        logged, exact = validate(model.module, val)
        plateau.step(logged)
        if rank == 0:
            print(f"step {step} train {loss.item():.3f} val_mae {logged:.3f}", flush=True)
    if rank == 0:
        print(f"EVIDENCE logged_over_exact={logged / exact:.4f} val_mae={logged:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    import tempfile
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--steps", type=int, default=80)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        args.store = os.path.join(folder, "store")
        mp.spawn(main_worker, args=(args,), nprocs=2)
