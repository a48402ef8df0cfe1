"""Embeddings by triplets that are hard, but not too hard; a batch has four samples of some classes."""

import argparse
import random

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Sampler, TensorDataset

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.005), ("--steps", int, 120)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()


class ByClasses(Sampler):
    """Batches of some classes with some samples each."""

    def __init__(self, labels, classes, samples, batches):
        self.places = {c: (labels == c).nonzero().flatten().tolist() for c in labels.unique().tolist()}
        self.classes, self.samples, self.batches = classes, samples, batches

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            batch = []
            for c in random.sample(sorted(self.places), self.classes):
                batch += random.choices(self.places[c], k=self.samples)
            yield batch


def semi_hard(embedding, labels, margin):
    distance = torch.cdist(embedding, embedding)
    same = labels[:, None] == labels[None]
    positive, negative = distance[:, :, None], distance[:, None]
    chosen = same[:, :, None] & ~same[:, None] & (positive < negative) & (negative < positive + margin)
    chosen &= ~torch.eye(len(labels), dtype=torch.bool)[:, :, None]
    if not chosen.any():
        return None
    return (positive - negative + margin)[chosen].mean()


@torch.no_grad()
def evaluate(model, x, labels, new_x, new_labels):
    model.eval()
    known, new = model(x), model(new_x)
    prototypes = torch.stack([known[labels == c].mean(0) for c in range(int(labels.max()) + 1)])
    model.train()
    return (torch.cdist(new, prototypes).argmin(1) == new_labels).float().mean().item()


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Dropout(0.05), nn.Linear(48, 6))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
random.seed(args.seed)
labels = torch.randint(10, (800,))
x = (2 * torch.randn(10, 12))[labels] + torch.randn(800, 12)
train, valid = (x[:600], labels[:600]), (x[600:], labels[600:])
loader = DataLoader(TensorDataset(*train), batch_sampler=ByClasses(train[1], 6, 4, 30))
model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
step, left_out = 0, 0
while step < args.steps:
    for inputs, target in loader:
        step += 1
        loss = semi_hard(model(inputs), target, margin=0.1)
        if loss is None:
            left_out += 1
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"step {step}: {left_out} batches had nothing to learn, right {evaluate(model, *train, *valid):.3f}")

# SPDX-License-Identifier: Apache-2.0
