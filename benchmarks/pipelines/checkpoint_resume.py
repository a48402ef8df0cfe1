"""Stop after some epochs and go on: model, optimizer, scheduler, generators, all from one file."""

import os
import random
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


def get_rng_state():
    return {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}


def set_rng_state(state):
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])


class Trainer:
    def __init__(self, args, path):
        raw = load_breast_cancer()
        x = torch.tensor((raw.data - raw.data.mean(0)) / raw.data.std(0), dtype=torch.float32)
        y = torch.tensor(raw.target, dtype=torch.float32)
        self.loader = DataLoader(TensorDataset(x[:448], y[:448]), batch_size=64, shuffle=True)
        self.held_out = (x[448:], y[448:])
        self.path = path
        self.model = nn.Sequential(
            nn.Linear(30, args.width), nn.BatchNorm1d(args.width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(args.width, 1)
        )
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.MultiStepLR(self.optimizer, milestones=[3, 5], gamma=0.3)
        self.epoch = 0
        if os.path.exists(path):
            self.load()

    def load(self):
        checkpoint = torch.load(self.path, weights_only=False)
        self.model.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.scheduler.load_state_dict(checkpoint["scheduler"])
        self.epoch = checkpoint["epoch"]
        set_rng_state(checkpoint["rng"])

    def save(self):
        torch.save(
            {
                "epoch": self.epoch,
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "rng": get_rng_state(),
            },
            self.path,
        )

    def train_epoch(self):
        self.model.train()
        for x, y in self.loader:
            loss = self.criterion(self.model(x).squeeze(1), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.scheduler.step()
        self.epoch += 1

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        x, y = self.held_out
        return self.criterion(self.model(x).squeeze(1), y).item()

    def run(self, until):
        while self.epoch < until:
            self.train_epoch()
            self.save()
            print(f"epoch {self.epoch}: val loss {self.evaluate():.4f}")


if __name__ == "__main__":
    args = options(lr=0.05, width=32, steps=42)
    torch.set_num_threads(1)
    epochs = max(4, args.steps // 7)
    with tempfile.TemporaryDirectory() as folder:
        for until in (epochs // 2, epochs):
            torch.manual_seed(args.seed + until)
            Trainer(args, os.path.join(folder, "checkpoint.pt")).run(until)

# SPDX-License-Identifier: Apache-2.0
