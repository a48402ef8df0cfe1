"""Three epochs, an interruption, three more; the rate falls by the epoch and the order depends on it."""

import argparse
import json
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=96)
args = parser.parse_args()
EPOCHS = 6


def rate_of(epoch):
    return args.lr * 0.7 ** epoch


def loader_of(data, epoch):
    generator = torch.Generator().manual_seed(100 * args.seed + epoch)
    return DataLoader(data, batch_size=16, sampler=RandomSampler(data, generator=generator))


def save(folder, model, optimizer, epoch):
    torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
    torch.save(optimizer.state_dict(), os.path.join(folder, "optimizer.pt"))
    with open(os.path.join(folder, "progress.json"), "w") as file:
        json.dump({"epoch": epoch}, file)


def train(folder, data, stop_after):
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    first = 0
    if os.path.exists(os.path.join(folder, "progress.json")):
        model.load_state_dict(torch.load(os.path.join(folder, "model.pt")))
        optimizer.load_state_dict(torch.load(os.path.join(folder, "optimizer.pt")))
        with open(os.path.join(folder, "progress.json")) as file:
            first = json.load(file)["epoch"]
    for epoch in range(first, stop_after):
        for group in optimizer.param_groups:
            group["lr"] = rate_of(epoch)
        for x, y in loader_of(data, epoch):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        trained.append(epoch)
        print(f"epoch {epoch}: rate {rate_of(epoch):.5f}, loss {loss.item():.4f}")
        save(folder, model, optimizer, epoch)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
trained = []
x = torch.randn(args.steps * 16 // EPOCHS, 8)
data = TensorDataset(x, (x[:, 0] * x[:, 1] > 0).long())
with tempfile.TemporaryDirectory() as folder:
    train(folder, data, EPOCHS // 2)
    train(folder, data, EPOCHS)
print(f"EVIDENCE the epochs that were trained are {trained}")

# SPDX-License-Identifier: Apache-2.0
