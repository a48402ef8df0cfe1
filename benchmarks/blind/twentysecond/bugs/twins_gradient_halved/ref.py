"""Self-supervised training on two gloo ranks: the cross-correlation of two views is taken over both ranks' rows."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

FEATURES = 24


class ReduceSum(torch.autograd.Function):
    """Sum over the ranks; the gradient is summed as well, as each rank's loss depends on all inputs."""

    @staticmethod
    def forward(ctx, x):
        out = x.clone()
        dist.all_reduce(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.projector = nn.Linear(32, FEATURES)

    def forward(self, first, second):
        return self.projector(self.backbone(first)), self.projector(self.backbone(second))


def augment(x, gen):
    image = x.view(-1, 8, 8)
    shift = torch.randint(-1, 2, (2,), generator=gen).tolist()
    image = torch.roll(image, shift, dims=(1, 2))
    keep = torch.rand(image.shape, generator=gen) > 0.2
    return (image * keep + 0.1 * torch.randn(image.shape, generator=gen)).flatten(1)


def standardise(z):
    return (z - z.mean(0)) / (z.std(0) + 1e-5)


def barlow_loss(z1, z2, off_weight=0.02):
    rows = len(z1) * dist.get_world_size()
    correlation = ReduceSum.apply(standardise(z1).T @ standardise(z2)) / rows
    on = (correlation.diagonal() - 1).pow(2).sum()
    off = correlation.pow(2).sum() - correlation.diagonal().pow(2).sum()
    return on + off_weight * off, correlation


def probe(encoder, x, y):
    with torch.no_grad():
        h = encoder.backbone(x).numpy()
    return RidgeClassifier().fit(h[:900], y[:900]).score(h[900:], y[900:])


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    digits = load_digits()
    x = torch.tensor(digits.data / 16.0, dtype=torch.float32)
    data = TensorDataset(x[:900])
    sampler = DistributedSampler(data, world, rank, seed=args.seed, drop_last=True)
    loader = DataLoader(data, batch_size=64, sampler=sampler, drop_last=True)
    model = DistributedDataParallel(Encoder())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    gen = torch.Generator().manual_seed(1000 * args.seed + rank)
    norms, step, epoch = [], 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        for (rows,) in loader:
            z1, z2 = model(augment(rows, gen), augment(rows, gen))
            loss, correlation = barlow_loss(z1, z2)
            optimizer.zero_grad()
            loss.backward()
            norms.append(sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt().item())
            optimizer.step()
            step += 1
            if step >= args.steps:
                break
        epoch += 1
        if rank == 0 and epoch % 5 == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}")
    if rank == 0:
        diagonal = correlation.diagonal().mean().item()
        print(f"EVIDENCE first_norm={norms[0]:.4f} loss={loss.item():.4f} diagonal={diagonal:.4f} "
              f"probe={probe(model.module, x, digits.target):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.03)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    main()
