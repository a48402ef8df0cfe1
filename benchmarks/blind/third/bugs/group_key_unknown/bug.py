"""A bag of words with a rate of its own for the embedding."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()


class Bag(nn.Module):
    def __init__(self, vocab=100, dim=16, classes=4):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.classifier = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, words):
        return self.classifier(self.embedding(words))


def make_optimizer(model):
    groups = [
        {"params": model.embedding.parameters(), "learning_rate": args.lr * 0.1, "weight_decay": 0.0},
        {"params": model.classifier.parameters()},
    ]
    return torch.optim.AdamW(groups, lr=args.lr, weight_decay=0.01)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Bag()
optimizer = make_optimizer(model)
before = model.embedding.weight.detach().clone()
for step in range(args.steps):
    y = torch.randint(0, 4, (32,))
    words = torch.randint(0, 100, (32, 12))
    words[:, ::2] = words[:, ::2] // 4 + 25 * y[:, None]
    loss = nn.functional.cross_entropy(model(words), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
moved = (model.embedding.weight - before).norm().item()
print(f"EVIDENCE rates {[g['lr'] for g in optimizer.param_groups]}, the embedding moved by {moved:.3f}, loss {loss:.3f}")

# SPDX-License-Identifier: Apache-2.0
