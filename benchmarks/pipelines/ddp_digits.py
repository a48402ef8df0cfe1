"""Data-parallel CNN on two processes by mp.spawn: a sampler per rank, StepLR by epochs, metrics summed over ranks."""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from options import options


def load_data():
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(digits.target)
    return TensorDataset(images[:1440], labels[:1440]), TensorDataset(images[1440:], labels[1440:])


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.dropout = nn.Dropout(0.2)
        self.fc1, self.fc2 = nn.Linear(16 * width, 48), nn.Linear(48, 10)

    def forward(self, x):
        x = F.relu(self.conv(x)).flatten(1)
        return self.fc2(self.dropout(F.relu(self.fc1(x))))


def evaluate(model, loader):
    model.eval()
    counts = torch.zeros(2)
    with torch.no_grad():
        for images, labels in loader:
            counts += torch.tensor([(model(images).argmax(1) == labels).sum().item(), len(labels)])
    dist.all_reduce(counts, op=dist.ReduceOp.SUM)
    return (counts[0] / counts[1]).item()


def worker(rank, world_size, store, args):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world_size)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train_set, test_set = load_data()
    sampler = DistributedSampler(train_set, num_replicas=world_size, rank=rank, shuffle=True, seed=args.seed)
    train_loader = DataLoader(train_set, batch_size=60, sampler=sampler)
    test_loader = DataLoader(test_set, batch_size=60, sampler=DistributedSampler(test_set, shuffle=False))
    model = DDP(Net(args.width))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.8)
    for epoch in range(max(2, args.steps // len(train_loader))):
        sampler.set_epoch(epoch)
        model.train()
        for images, labels in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
        scheduler.step()
        accuracy = evaluate(model, test_loader)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(2, f"{folder}/store", options(lr=0.05, width=12, steps=36)), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
