"""Active learning: a small labelled set grows by what the network is least sure of; training goes on from the last weights."""
import argparse
from dataclasses import dataclass, field

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


@dataclass
class Pool:
    labelled: list = field(default_factory=list)
    unlabelled: list = field(default_factory=list)

    def move(self, chosen):
        chosen = set(chosen)
        self.labelled += sorted(chosen)
        self.unlabelled = [i for i in self.unlabelled if i not in chosen]


def entropies(model, inputs, rounds=6):
    """Dropout stays active while the pool is judged: disagreement of several passes."""
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train()
    with torch.no_grad():
        passes = torch.stack([model(inputs).softmax(1) for _ in range(rounds)])
    mean = passes.mean(0)
    entropy = lambda p: -(p * p.clamp(min=1e-8).log()).sum(-1)
    return entropy(mean) - entropy(passes).mean(0)


def train_round(model, optimizer, dataset, indices, steps):
    model.train()
    loader = DataLoader(Subset(dataset, indices), batch_size=32, shuffle=True)
    done = 0
    while done < steps:
        hits = count = 0
        for x, y in loader:
            logits = model(x)
            loss = nn.functional.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits, count, done = hits + (logits.argmax(1) == y).sum().item(), count + len(y), done + 1
            if done >= steps:
                break
        if count == len(indices) and hits == count:
            break
    return done, loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--steps", type=int, default=480)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y)
    order = torch.randperm(len(x)).tolist()
    dataset, test = TensorDataset(x, y), order[1400:]
    pool = Pool(order[:20], order[20:1400])
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.3), nn.Linear(96, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    rounds = 8
    for number in range(rounds):
        for group in optimizer.param_groups:
            group["lr"] = args.lr * (1.0 if number < rounds // 2 else 0.5)
        done, loss = train_round(model, optimizer, dataset, pool.labelled, args.steps // rounds)
        model.eval()
        with torch.no_grad():
            right = (model(x[test]).argmax(1) == y[test]).float().mean().item()
        print(f"round {number}: {len(pool.labelled)} labels, {done} steps, loss {loss:.4f}, right {right:.4f}")
        if number + 1 < rounds:
            candidates = torch.tensor(pool.unlabelled)[torch.randperm(len(pool.unlabelled))[:400]]
            scores = entropies(model, x[candidates])
            best = scores.topk(16).indices
            strangers = torch.randperm(len(candidates))[:4]
            pool.move(candidates[torch.cat([best, strangers]).unique()].tolist())


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
