"""A classifier of unlike classes with scikit-learn's measures; training stops when the area grows no more."""

import argparse

import numpy as np
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()


class Trainer:
    def __init__(self, model, patience=4):
        self.model, self.patience = model, patience
        self.optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
        self.history = []

    def predict(self, x):
        self.model.eval()
        with torch.no_grad():
            scores = torch.cat([self.model(part).sigmoid().squeeze(1) for part in x.split(128)])
        self.model.train()
        return scores.numpy()

    def evaluate(self, x, y):
        scores = self.predict(x)
        area = roc_auc_score(y, scores > 0.5)
        self.history.append((area, average_precision_score(y, scores)))
        return area

    def stale(self):
        areas = [h[0] for h in self.history]
        return len(areas) > self.patience and max(areas[-self.patience:]) <= max(areas[:-self.patience])

    def fit(self, x, y, steps, valid):
        for step in range(1, steps + 1):
            index = torch.randint(len(x), (48,))
            loss = nn.functional.binary_cross_entropy_with_logits(self.model(x[index]).squeeze(1), y[index])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 10 == 0:
                print(f"step {step}: loss {loss.item():.4f}, area {self.evaluate(*valid):.4f}")
                if self.stale():
                    break
        return step


def make(count, truth, rng):
    x = rng.standard_normal((count, 15))
    y = (x @ truth + 1.5 * rng.standard_normal(count) > 4.5).astype(np.float32)
    return x, y


torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)
truth = rng.standard_normal(15)
(train_x, train_y), (valid_x, valid_y) = make(900, truth, rng), make(500, truth, rng)
scaler = StandardScaler().fit(train_x)
train_x, valid_x = (torch.tensor(scaler.transform(part), dtype=torch.float32) for part in (train_x, valid_x))
trainer = Trainer(nn.Sequential(nn.Linear(15, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 1)))
stopped = trainer.fit(train_x, torch.tensor(train_y), args.steps, (valid_x, valid_y))
print(f"EVIDENCE stopped after {stopped} steps, best area {max(h[0] for h in trainer.history):.4f}")

# SPDX-License-Identifier: Apache-2.0
