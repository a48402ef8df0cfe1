"""A siamese network compares digits; a threshold comes from pairs of validation by their curve."""

import argparse

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score, roc_curve
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Pairs(IterableDataset):
    """Pairs without an end; half of them belong together by chance, a third of the others are hard ones from a list."""

    def __init__(self, images, labels, seed):
        self.images, self.labels, self.hard = images, labels, []
        self.rng = np.random.default_rng(seed)
        self.of_class = {c: np.flatnonzero(labels == c) for c in np.unique(labels)}

    def __iter__(self):
        while True:
            i = int(self.rng.integers(len(self.labels)))
            same = self.rng.random() < 0.5
            if same:
                j = int(self.rng.choice(self.of_class[self.labels[i]]))
            elif self.hard and self.rng.random() < 0.33:
                i, j = self.hard[int(self.rng.integers(len(self.hard)))]
            else:
                j = int(self.rng.integers(len(self.labels)))
            yield self.images[i], self.images[j], float(self.labels[i] == self.labels[j]), i, j


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 24))

    def forward(self, a, b):
        return nn.functional.pairwise_distance(self.embed(a), self.embed(b))


def contrastive(distance, same, margin=1.5):
    return (same * distance.square() + (1 - same) * (margin - distance).clamp(min=0).square()).mean()


@torch.no_grad()
def choose_threshold(model, pairs, count):
    model.eval()
    stream, distances, truth = iter(pairs), [], []
    for _ in range(count):
        a, b, same, _, _ = next(stream)
        distances.append(model(a[None], b[None]).item())
        truth.append(same)
    model.train()
    if len(set(truth)) < 2:
        return None, None
    false, true, thresholds = roc_curve(truth, -np.array(distances))
    return -thresholds[np.argmax(true - false)], roc_auc_score(truth, -np.array(distances))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    x = torch.tensor(x / 16, dtype=torch.float32)
    order = np.random.default_rng(args.seed).permutation(len(y))
    train, valid = (Pairs(x[rows], y[rows], args.seed + k) for k, rows in enumerate((order[:1200], order[1200:])))
    model = Siamese()
    optimizer = torch.optim.SGD(model.parameters(), lr=20 * args.lr, momentum=0.9)
    threshold = 1.0
    for step, (a, b, same, i, j) in enumerate(DataLoader(train, batch_size=48), 1):
        distance = model(a, b)
        loss = contrastive(distance, same.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        wrong = (distance.detach() < threshold) & (same == 0)
        train.hard = (train.hard + list(zip(i[wrong].tolist(), j[wrong].tolist())))[-64:]
        if step % 40 == 0:
            found, area = choose_threshold(model, valid, 12 if step == 40 else 120)
            if found is not None and np.isfinite(found):
                threshold = float(found)
                print(f"step {step}: loss {loss.item():.3f}, {len(train.hard)} hard pairs, area {area:.3f} at {threshold:.2f}")
        if step >= args.steps:
            break


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
