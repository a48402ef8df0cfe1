"""Impute missing values in multivariate series; keep the weights of the best validation epoch."""
import argparse
import copy
import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

LENGTH, FEATURES = 32, 5


def make_series(n, rng):
    t = np.arange(LENGTH)
    out = np.zeros((n, LENGTH, FEATURES), dtype=np.float32)
    for i in range(n):
        period, phase = rng.uniform(8, 20), rng.uniform(0, 2 * math.pi)
        base = np.sin(2 * math.pi * t / period + phase)
        slow = np.cumsum(rng.normal(0, 0.15, LENGTH))
        for f in range(FEATURES):
            lag = np.roll(base, f)
            out[i, :, f] = (0.6 + 0.1 * f) * lag + 0.5 * slow + rng.normal(0, 0.15, LENGTH)
    return out


def hide(values, rate, rng):
    observed = rng.random(values.shape) > rate
    return torch.from_numpy(values), torch.from_numpy(observed)


class Imputer(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.rnn = nn.GRU(FEATURES * 2, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Sequential(nn.Linear(hidden * 2, hidden), nn.ReLU(), nn.Linear(hidden, FEATURES))

    def forward(self, values, observed):
        flag = observed.float()
        states, _ = self.rnn(torch.cat([values * flag, flag], dim=-1))
        return self.out(states)


def masked_mae(pred, target, where):
    where = where.float()
    return ((pred - target).abs() * where).sum() / where.sum().clamp(min=1.0)


class Trainer:
    def __init__(self, model, lr, patience):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.patience = patience
        self.best_loss = float("inf")
        self.best_epoch = -1
        self.best_state = None

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for values, observed in loader:
            drop = torch.rand(values.shape) < 0.2
            visible = observed & ~drop
            pred = self.model(values, visible)
            loss = masked_mae(pred, values, observed & drop)
            loss = loss + 0.5 * masked_mae(pred, values, visible)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        err, count = 0.0, 0
        for values, observed in loader:
            pred = self.model(values, observed)
            err += ((pred - values).abs() * (~observed)).sum().item()
            count += (~observed).sum().item()
        return err / count

    def fit(self, train_loader, val_loader, epochs):
        bad = 0
        for epoch in range(epochs):
            train_loss = self.train_epoch(train_loader)
            val_loss = self.validate(val_loader)
            if val_loss < self.best_loss:
                self.best_loss, self.best_epoch, bad = val_loss, epoch, 0
                self.best_state = copy.deepcopy(self.model.state_dict())
            else:
                bad += 1
            if epoch % 5 == 0:
                print(f"epoch {epoch:3d} train loss {train_loss:.4f} val mae {val_loss:.4f}")
            if bad >= self.patience:
                break
        self.model.load_state_dict(self.best_state)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-2)
    parser.add_argument("--steps", type=int, default=120, help="optimizer steps")
    parser.add_argument("--patience", type=int, default=12)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    train = TensorDataset(*hide(make_series(64, rng), 0.1, rng))
    val = TensorDataset(*hide(make_series(160, rng), 0.3, rng))
    train_loader = DataLoader(train, batch_size=16, shuffle=True)
    val_loader = DataLoader(val, batch_size=80)

    trainer = Trainer(Imputer(), args.lr, args.patience)
    trainer.fit(train_loader, val_loader, epochs=max(1, args.steps // len(train_loader)))

    final = trainer.validate(val_loader)
    print(f"EVIDENCE best_val_mae={trainer.best_loss:.5f} returned_model_val_mae={final:.5f} "
          f"best_epoch={trainer.best_epoch}")


if __name__ == "__main__":
    main()
