"""Data-parallel training on digits, with two ranks played by one process."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

WORLD_SIZE = 2


def load_data():
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16.0
    y = torch.tensor(digits.target)
    return TensorDataset(x[:1200], y[:1200]), TensorDataset(x[1200:], y[1200:])


class MLP(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 10))

    def forward(self, x):
        return self.layers(x)


def make_rank_loader(dataset, rank, batch_size, seed):
    sampler = DistributedSampler(dataset, WORLD_SIZE, rank, shuffle=True, seed=seed, drop_last=True)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler, drop_last=True)


def cycle_dataloader(loader):
    """Batches without end; a new order for each pass."""
    epoch = 0
    while True:
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            yield batch
        epoch += 1


def evaluate(model, dataset):
    model.eval()
    with torch.no_grad():
        x, y = dataset.tensors
        accuracy = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return accuracy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set, test_set = load_data()
    model = MLP()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    streams = [cycle_dataloader(make_rank_loader(train_set, rank, args.batch_size, args.seed))
               for rank in range(WORLD_SIZE)]

    for step in range(args.steps):
        optimizer.zero_grad()
        total = 0.0
        for stream in streams:
            x, y = next(stream)
            loss = F.cross_entropy(model(x), y) / WORLD_SIZE
            loss.backward()
            total += loss.item()
        optimizer.step()
        schedule.step()
        if step % 30 == 0 or step == args.steps - 1:
            print(f"step {step} loss {total:.6f}")

    print(f"test accuracy {evaluate(model, test_set):.4f}")
    print(f"weight sum {sum(p.double().sum().item() for p in model.parameters()):.10f}")


if __name__ == "__main__":
    main()
