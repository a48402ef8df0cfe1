"""A small convolutional network learns scikit-learn's 8x8 digits."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = 48
TRAIN_ROWS = 288  # six steps in an epoch
TEST_ROWS = 200


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def load():
    from sklearn.datasets import load_digits

    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    train = TensorDataset(x[:TRAIN_ROWS], y[:TRAIN_ROWS])
    test = x[-TEST_ROWS:], y[-TEST_ROWS:]
    return train, test


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm1 = nn.GroupNorm(2, 8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.norm2 = nn.GroupNorm(4, 16)
        self.out = nn.Linear(16 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.out(x.flatten(1))


def mean_over_ranks(value, world):
    value = value.detach().clone()
    if world > 1:
        dist.all_reduce(value)
        value /= world
    return value.item()


@torch.no_grad()
def accuracy(model, test, rank, world):
    x, y = test[0][rank::world], test[1][rank::world]
    model.eval()
    counts = torch.tensor([(model(x).argmax(1) == y).sum().item(), len(y)])
    model.train()
    if world > 1:
        dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def work(rank, world, port, args):
    torch.set_num_threads(1)
    if world > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                          RANK=str(rank), WORLD_SIZE=str(world))
        dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    train, test = load()
    net = Net()
    model = DistributedDataParallel(net) if world > 1 else net
    sampler = DistributedSampler(train, num_replicas=world, rank=rank,
                                 shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(train, batch_size=BATCH // world, sampler=sampler, drop_last=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=8, gamma=0.5)

    step, epoch = 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        for x, y in loader:
            if step == args.steps:
                break
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            shown = mean_over_ranks(loss, world)
            if rank == 0:
                print(f"step {step} loss {shown:.8f}")
            step += 1
        correct = accuracy(net, test, rank, world)
        if rank == 0:
            print(f"epoch {epoch} accuracy {correct:.4f}")
        epoch += 1

    if rank == 0:
        norm = torch.cat([p.detach().flatten() for p in net.parameters()]).norm().item()
        print(f"weights norm {norm:.8f}")
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    if args.ranks == 1:
        work(0, 1, None, args)
    else:
        mp.spawn(work, args=(args.ranks, free_port(), args), nprocs=args.ranks)
