"""Self-training in rounds: a teacher labels what it is sure of, a new student learns from both and becomes the teacher."""

import argparse

import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
CLASSES, ROUNDS = 4, 3


def make_model(dropout):
    return nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Dropout(dropout), nn.Linear(48, CLASSES))


def blobs(n, centres):
    labels = torch.randint(CLASSES, (n,))
    return centres[labels] + torch.randn(n, 10), nn.functional.one_hot(labels, CLASSES).float()


def train(model, data, steps, noise):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(data, batch_size=min(32, len(data)), shuffle=True)
    made = 0
    model.train()
    while made < steps:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x + noise * torch.randn_like(x)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            made += 1
            if made == steps:
                break
    return model.eval()


@torch.no_grad()
def pseudo_labels(teacher, x, least):
    """Soft labels of those samples that the teacher is sure of; as many of each class as of the rarest one."""
    p = teacher(x).softmax(1)
    sure, label = p.max(1)
    rarest = min(int(((label == c) & (sure > least)).sum()) for c in range(CLASSES))
    chosen = [((label == c) * sure).topk(max(rarest, 1)).indices for c in range(CLASSES)]
    chosen = torch.cat(chosen)
    return TensorDataset(x[chosen], p[chosen])


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = torch.randn(CLASSES, 10)
labelled, (unlabelled, _), (x, y) = TensorDataset(*blobs(24, centres)), blobs(400, centres), blobs(200, centres)
teacher = train(make_model(0.0), labelled, args.steps // ROUNDS, noise=0.0)
for turn in range(ROUNDS):
    with torch.no_grad():
        right = (teacher(x).argmax(1) == y.argmax(1)).float().mean()
    print(f"round {turn}: {right:.3f} right")
    if turn < ROUNDS - 1:
        data = ConcatDataset([labelled, pseudo_labels(teacher, unlabelled, 0.8 - 0.1 * turn)])
        teacher = train(make_model(0.3), data, args.steps // ROUNDS, noise=0.3)

# SPDX-License-Identifier: Apache-2.0
