"""Prices from features; the network works in bfloat16 by autocast and answers in the unit of the prices."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=400)
args = parser.parse_args()


class PriceModel(nn.Module):
    def __init__(self, features, mean, std):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.net = nn.Sequential(nn.Linear(features, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))

    def forward(self, x):
        out = self.net(x).squeeze(-1).float()
        return out * self.std + self.mean


class Trainer:
    def __init__(self, model, lr, batch_size=64):
        self.model = model
        self.batch_size = batch_size
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-4)

    def predict(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.model(x)

    def fit(self, x, y, steps, valid):
        for step in range(1, steps + 1):
            rows = torch.randint(len(x), (self.batch_size,))
            loss = F.mse_loss(self.predict(x[rows]).float() / self.model.std, y[rows] / self.model.std)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 80 == 0:
                print(f"step {step}: loss {loss.item():.5f}, valid rmse {self.rmse(*valid):.3f}")

    @torch.no_grad()
    def rmse(self, x, y):
        return (self.predict(x).float() - y).pow(2).mean().sqrt().item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
features = torch.randn(3000, 8)
price = 2400 + 18 * (features @ torch.randn(8) / 3 + torch.sin(features[:, 0] * 2)) + torch.randn(3000)
train, valid = (features[:2500], price[:2500]), (features[2500:], price[2500:])
trainer = Trainer(PriceModel(8, train[1].mean(), train[1].std()), args.lr)
trainer.fit(*train, args.steps, valid)
with torch.no_grad():
    answers = trainer.predict(valid[0])
print(f"EVIDENCE {len(answers.unique())} distinct prices for {len(answers)} houses, rmse {trainer.rmse(*valid):.3f}")

# SPDX-License-Identifier: Apache-2.0
