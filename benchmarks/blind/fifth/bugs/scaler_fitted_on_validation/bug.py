"""Tables with a drift: columns are standardised by scikit-learn, a network predicts a price."""

import argparse

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
COLUMNS = 8


def tables(rng):
    scale, centre = rng.uniform(1, 50, COLUMNS), rng.uniform(-100, 100, COLUMNS)
    weight = rng.normal(size=COLUMNS)
    raw = rng.normal(size=(900, COLUMNS))
    raw[600:] = 0.6 * raw[600:] + 0.8
    price = np.tanh(raw @ weight / 2) + 0.3 * raw[:, 0] + 0.1 * rng.normal(size=900)
    return (raw * scale + centre).astype(np.float32), price.astype(np.float32)


def split(features, price):
    scaler = StandardScaler()
    train = scaler.fit_transform(features[:600])
    valid = scaler.fit_transform(features[600:])
    pairs = (train, price[:600]), (valid, price[600:])
    return [tuple(torch.from_numpy(part) for part in pair) for pair in pairs]


torch.manual_seed(args.seed)
torch.set_num_threads(1)
(train_x, train_y), (valid_x, valid_y) = split(*tables(np.random.default_rng(args.seed)))
model = nn.Sequential(nn.Linear(COLUMNS, 48), nn.ReLU(), nn.Linear(48, 1), nn.Flatten(0))
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    index = torch.randint(len(train_x), (48,))
    loss = nn.functional.mse_loss(model(train_x[index]), train_y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        model.eval()
        with torch.no_grad():
            error = nn.functional.mse_loss(model(valid_x), valid_y).item()
        model.train()
        print(f"step {step}: loss {loss.item():.4f}, validation {error:.4f}")
print(f"EVIDENCE the validation's columns have a mean of {valid_x.mean():.3f}, a deviation of {valid_x.std(0).mean():.3f}; "
      f"error {error:.4f}")

# SPDX-License-Identifier: Apache-2.0
