"""Lesions of patients are classified; several lesions belong to one patient and look alike."""

import argparse

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ShuffleSplit
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Lesions(Dataset):
    def __init__(self, features, labels, patients):
        self.features, self.labels, self.patients = features, labels, patients

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.features[index], self.labels[index]

    def subset(self, rows):
        return Lesions(self.features[rows], self.labels[rows], self.patients[rows])


def make_cohort(patients, seed):
    """Most of what is seen is the patient's own anatomy; a little of it tells of the disease, which a patient has or not."""
    rng = np.random.default_rng(seed)
    ill = rng.random(patients) < 0.45
    anatomy = rng.normal(size=(patients, 40))
    anatomy[:, :6] += 0.55 * ill[:, None]
    owner = np.repeat(np.arange(patients), rng.integers(4, 9, patients))
    features = anatomy[owner] + 0.35 * rng.normal(size=(len(owner), 40))
    return Lesions(features.astype(np.float32), ill[owner].astype(np.float32), owner)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(40, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


def area(model, dataset):
    model.eval()
    with torch.no_grad():
        scores = torch.cat([model(x) for x, _ in DataLoader(dataset, batch_size=128)])
    model.train()
    return roc_auc_score(dataset.labels, scores)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    cohort, later = make_cohort(160, args.seed), make_cohort(150, args.seed + 10_000)
    splitter = ShuffleSplit(n_splits=1, test_size=0.25, random_state=args.seed)
    rows, held_out = next(splitter.split(cohort.features, cohort.labels))
    train, valid = cohort.subset(rows), cohort.subset(held_out)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    step = 0
    while step < args.steps:
        for x, y in DataLoader(train, batch_size=32, shuffle=True, drop_last=True):
            loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 60 == 0:
                print(f"step {step}: loss {loss.item():.4f}, area of validation {area(model, valid):.4f}")
            if step == args.steps:
                break
    common = len(set(train.patients) & set(valid.patients))
    print(f"EVIDENCE area of validation {area(model, valid):.4f}, of a later cohort {area(model, later):.4f}, "
          f"{common} patients on both sides")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
