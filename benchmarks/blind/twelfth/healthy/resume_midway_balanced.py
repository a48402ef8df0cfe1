"""Imbalanced classes: weighted sampler, label smoothing, cosine restarts; saved half-way and resumed from the file."""
import argparse
import os
import random
import tempfile

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Trainer:
    def __init__(self, args, train, valid):
        x, y = train
        counts = torch.bincount(y)
        sampler = WeightedRandomSampler((1.0 / counts.float())[y], num_samples=len(y), replacement=True)
        self.loader = DataLoader(TensorDataset(x, y), batch_size=64, sampler=sampler)
        self.valid = valid
        self.model = nn.Sequential(nn.Linear(x.shape[1], 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2),
                                   nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, len(counts)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=5e-4)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(self.optimizer, T_0=3, T_mult=2)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.epoch = 0
        self.best = 0.0

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": self.epoch,
                    "scheduler": self.scheduler.state_dict(), "best": self.best, "rng": torch.get_rng_state()}, path)

    def load(self, path):
        ckpt = torch.load(path, weights_only=True)
        self.model.load_state_dict(ckpt["model"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        self.scheduler.load_state_dict(ckpt["scheduler"])
        self.epoch, self.best = ckpt["epoch"], ckpt["best"]
        torch.set_rng_state(ckpt["rng"])

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            pred = self.model(self.valid[0]).argmax(1)
        return balanced_accuracy_score(self.valid[1].numpy(), pred.numpy())

    def run(self, until):
        while self.epoch < until:
            self.model.train()
            total, rare = 0.0, 0
            for i, (xb, yb) in enumerate(self.loader):
                loss = self.criterion(self.model(xb), yb)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step(self.epoch + (i + 1) / len(self.loader))
                total += loss.item()
                rare += int((yb == 2).sum())
            self.epoch += 1
            score = self.validate()
            self.best = max(self.best, score)
            print(f"epoch {self.epoch}: loss {total / len(self.loader):.4f}, rare samples {rare}, "
                  f"balanced accuracy {score:.4f}, lr {self.scheduler.get_last_lr()[0]:.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=9, help="epochs")
    args = parser.parse_args()
    set_seed(args.seed)
    torch.set_num_threads(1)
    x, y = make_classification(2500, 20, n_informative=8, n_redundant=4, n_classes=3, n_clusters_per_class=2, class_sep=1.5,
                               weights=[0.75, 0.18, 0.07], random_state=args.seed)
    xt, xv, yt, yv = train_test_split(x, y, test_size=0.3, stratify=y, random_state=args.seed)
    mean, std = xt.mean(0), xt.std(0)
    as_pair = lambda a, b: (torch.tensor((a - mean) / std, dtype=torch.float32), torch.tensor(b))
    train, valid = as_pair(xt, yt), as_pair(xv, yv)

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        first = Trainer(args, train, valid)
        first.run(args.steps // 2)
        first.save(path)
        score = first.validate()
        print("interrupted, going on from the checkpoint")
        second = Trainer(args, train, valid)
        second.load(path)
        assert abs(second.validate() - score) < 1e-9
        second.run(args.steps)
        print(f"best balanced accuracy {second.best:.4f}")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
