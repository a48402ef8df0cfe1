"""The order of an epoch comes from seed and epoch; a run stops after two epochs and goes on."""

import argparse
import io

import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=2)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class EpochSampler(Sampler):
    def __init__(self, size):
        self.size, self.epoch = size, 0

    def __len__(self):
        return self.size

    def __iter__(self):
        generator = torch.Generator().manual_seed(args.seed + self.epoch)
        return iter(torch.randperm(self.size, generator=generator).tolist())


x = torch.randn(320, 10)
data = TensorDataset(torch.arange(320), x, x[:, :2].prod(1, keepdim=True))
model = nn.Sequential(nn.Linear(10, 40), nn.Tanh(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
orders = {}


def train(first, last):
    sampler = EpochSampler(len(data))
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    for epoch in range(first, last):
        sampler.epoch = epoch
        for index, features, target in loader:
            loss = nn.functional.mse_loss(model(features), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            orders.setdefault(epoch, []).extend(index.tolist())
    return loss


train(0, args.steps)
file = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": args.steps}, file)
file.seek(0)
checkpoint = torch.load(file)
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
done, orders = orders, {}
loss = train(0, args.steps)
again = sum(order in done.values() for order in orders.values())
print(f"EVIDENCE {again} epochs after resuming have the order of one before, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
