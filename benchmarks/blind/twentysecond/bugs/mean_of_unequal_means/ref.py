"""Two gloo ranks with shards of unequal size; after training, batch norm gets exact statistics over all rows."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12)
        self.conv2, self.bn2 = nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24)
        self.head = nn.Linear(24 * 4, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.head(F.avg_pool2d(x, 2).flatten(1))


def load(rank):
    """A large site with bright scans, a small one with dark scans."""
    digits = load_digits()
    x = torch.tensor(digits.images / 16.0, dtype=torch.float32)[:, None]
    y = torch.tensor(digits.target)
    bright, dark = slice(0, 1100), slice(1100, 1250)
    test_x = torch.cat([2.0 * x[1250:1700], 0.3 * x[1700:]])
    test = (test_x, y[1250:])
    return (2.0 * x[bright], y[bright], test) if rank == 0 else (0.3 * x[dark], y[dark], test)


class Moments:
    """Collects sums of a batch norm's input over all batches."""

    def __init__(self, bn):
        self.bn, self.count = bn, torch.zeros(())
        self.total, self.square = torch.zeros(bn.num_features), torch.zeros(bn.num_features)
        self.hook = bn.register_forward_pre_hook(self.add)

    def add(self, module, inputs):
        x = inputs[0].transpose(0, 1).flatten(1)
        self.count += x.shape[1]
        self.total += x.sum(1)
        self.square += x.pow(2).sum(1)

    def finish(self):
        """Mean and variance over the rows of both ranks."""
        self.hook.remove()
        for part in (self.count, self.total, self.square):
            dist.all_reduce(part)
        mean = self.total / self.count
        variance = self.square / self.count - mean ** 2
        self.bn.running_mean.copy_(mean)
        self.bn.running_var.copy_(variance)


@torch.no_grad()
def precise_bn(model, x):
    """Layer by layer, as each layer's input depends on the statistics before it."""
    model.eval()
    for bn in [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]:
        moments = Moments(bn)
        for rows in x.split(50):
            model(rows)
        moments.finish()


def worker(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    x, y, (test_x, test_y) = load(rank)
    net = DigitNet()
    model = DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 10 * rank)
    for step in range(args.steps):
        rows = torch.randint(0, len(x), (32,), generator=gen)
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 20 == 19:
            print(f"step {step + 1} loss {loss.item():.4f}")
    precise_bn(net, x)
    if rank == 0:
        with torch.no_grad():
            logits = net(test_x)
        right = (logits.argmax(1) == test_y).float().mean().item()
        print(f"EVIDENCE mean={net.bn1.running_mean.abs().mean().item():.5f} var={net.bn1.running_var.mean().item():.5f} "
              f"held_out={F.cross_entropy(logits, test_y).item():.4f} accuracy={right:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, args, os.path.join(folder, "store")), nprocs=2)


if __name__ == "__main__":
    main()
