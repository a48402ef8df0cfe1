"""Train a classifier of digits on two ranks: torchrun --nproc-per-node 2 train.py"""

import argparse

import torch
import torch.distributed as dist
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Classifier(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(64, width), nn.LayerNorm(width), nn.ReLU())
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.features(x))


def unwrapped(model):
    """The model inside of DDP: for evaluation and checkpoints."""
    return model.module if isinstance(model, DistributedDataParallel) else model


def train_epoch(model, loader, optimizer):
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(unwrapped(model)(images), labels)
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    return (model(images).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(args.seed + dist.get_rank())
    torch.set_num_threads(1)
    images, labels = (torch.tensor(a) for a in load_digits(return_X_y=True))
    images = images.float() / 16
    train_set = TensorDataset(images[:1440], labels[:1440])
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, batch_size=48, sampler=sampler)

    model = DistributedDataParallel(Classifier())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, loader, optimizer)
        right = accuracy(unwrapped(model), images[1440:], labels[1440:])
        if dist.get_rank() == 0:
            print(f"epoch {epoch + 1}: loss {loss:.3f}, accuracy {right:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
