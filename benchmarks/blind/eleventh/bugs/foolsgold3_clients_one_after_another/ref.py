"""Federated averaging: each round some clients train from the global weights, their weights are averaged by size."""
import argparse
import copy

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def split_by_labels(labels, clients, rng, concentration=0.4):
    """Unequal shares of each class, as in the literature on federated learning."""
    parts = [[] for _ in range(clients)]
    for c in range(10):
        index = rng.permutation(np.flatnonzero(labels == c))
        shares = rng.dirichlet([concentration] * clients)
        for part, piece in zip(parts, np.split(index, (shares.cumsum()[:-1] * len(index)).astype(int))):
            part.extend(piece.tolist())
    return [part for part in parts if len(part) >= 8]


class Client:
    def __init__(self, data, lr, batch_size=16):
        self.loader = DataLoader(data, batch_size=batch_size, shuffle=True)
        self.size = len(data)
        self.lr = lr

    def update(self, model, epochs):
        """Trains the model it is given; returns weights, loss and the number of steps."""
        optimizer = torch.optim.SGD(model.parameters(), lr=self.lr, momentum=0.5)
        model.train()
        steps = 0
        for _ in range(epochs):
            for x, y in self.loader:
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                steps += 1
        return copy.deepcopy(model.state_dict()), loss.item(), steps


def average(states, sizes):
    total = sum(sizes)
    return {name: sum(s[name] * (n / total) for s, n in zip(states, sizes)) for name in states[0]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=700)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    x, y = load_digits(return_X_y=True)
    order = rng.permutation(len(x))
    inputs, labels = torch.tensor(x[order], dtype=torch.float32) / 16, torch.tensor(y[order])
    test_x, test_y = inputs[1200:], labels[1200:]
    clients = [Client(TensorDataset(inputs[p], labels[p]), args.lr) for p in split_by_labels(y[order][:1200], 10, rng)]
    global_model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    done = rounds = 0
    drift = []
    while done < args.steps:
        before = torch.cat([p.detach().flatten().clone() for p in global_model.parameters()])
        chosen = rng.choice(len(clients), 5, replace=False)
        states, sizes = [], []
        for number in chosen:
            local_model = copy.deepcopy(global_model)
            start = torch.cat([p.detach().flatten() for p in local_model.parameters()])
            drift.append((start - before).norm().item())
            state, loss, steps = clients[number].update(local_model, epochs=2)
            states.append(state)
            sizes.append(clients[number].size)
            done += steps
        global_model.load_state_dict(average(states, sizes))
        rounds += 1
        global_model.eval()
        with torch.no_grad():
            right = (global_model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"round {rounds}: last client's loss {loss:.4f}, test {right:.4f}")
    print(f"EVIDENCE clients start {np.mean(drift):.4f} away from the weights of their round, test {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
