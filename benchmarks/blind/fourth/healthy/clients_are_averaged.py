"""Federated averaging: some clients are drawn, each trains a copy with an optimizer of its own, copies are averaged."""

import argparse
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
CLIENTS, DRAWN, LOCAL_EPOCHS = 8, 3, 1


def client_data(rule):
    n = torch.randint(24, 80, (1,)).item()
    x = torch.randn(n, 10) + 0.5 * torch.randn(10)
    return TensorDataset(x, (x @ rule).argmax(1))


def train_client(model, data):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)
    steps = 0
    for _ in range(LOCAL_EPOCHS):
        for x, y in DataLoader(data, batch_size=16, shuffle=True):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
    return model.state_dict(), len(data), steps


def weighted_mean(states):
    total = sum(n for _, n in states)
    mean = {}
    for key, value in states[0][0].items():
        if value.is_floating_point():
            mean[key] = sum(state[key] * (n / total) for state, n in states)
        else:
            mean[key] = max(state[key] for state, _ in states)
    return mean


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    x, y = data.tensors
    return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
rule = torch.randn(10, 4)
clients, test = [client_data(rule) for _ in range(CLIENTS)], client_data(rule)
server = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
steps = rounds = 0
while steps < args.steps:
    states = []
    for i in torch.randperm(CLIENTS)[:DRAWN].tolist():
        state, n, made = train_client(copy.deepcopy(server), clients[i])
        states.append((state, n))
        steps += made
    server.load_state_dict(weighted_mean(states))
    rounds += 1
    print(f"round {rounds}: accuracy {accuracy(server, test):.3f}")

# SPDX-License-Identifier: Apache-2.0
