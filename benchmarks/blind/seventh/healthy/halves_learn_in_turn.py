"""Ratings of users for items by factors; estimator class with `fit`, `partial_fit` and `predict`."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--steps", type=int, default=160)
args = parser.parse_args()


class Factors(nn.Module):
    def __init__(self, users, items, rank):
        super().__init__()
        self.user, self.item = nn.Embedding(users, rank), nn.Embedding(items, rank)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for table in (self.user, self.item):
            nn.init.normal_(table.weight, std=0.1)
        for table in (self.user_bias, self.item_bias):
            nn.init.zeros_(table.weight)

    def forward(self, user, item):
        return (self.user(user) * self.item(item)).sum(1) + (self.user_bias(user) + self.item_bias(item)).squeeze(1)


class Recommender:
    def __init__(self, users, items, rank=4, every=8):
        self.factors, self.every, self.step = Factors(users, items, rank), every, 0
        self.optimizer = torch.optim.Adagrad(self.factors.parameters(), lr=args.lr)
        self.mean = 0.0

    def turn(self):
        """Users learn for some steps, then items."""
        of_users = self.step // self.every % 2 == 0
        for name, p in self.factors.named_parameters():
            p.requires_grad_(name.startswith("user") == of_users)

    def partial_fit(self, user, item, rating):
        self.turn()
        loss = nn.functional.mse_loss(self.factors(user, item), rating - self.mean)
        penalty = sum(p.square().mean() for p in self.factors.parameters() if p.requires_grad)
        self.optimizer.zero_grad(set_to_none=True)
        (loss + 0.01 * penalty).backward()
        self.optimizer.step()
        self.step += 1
        return loss.item()

    def fit(self, triples, steps):
        user, item, rating = triples
        self.mean = rating.mean().item()
        for _ in range(steps):
            rows = torch.randint(len(user), (128,))
            loss = self.partial_fit(user[rows], item[rows], rating[rows])
            if self.step % 40 == 0:
                print(f"step {self.step}: loss {loss:.4f}")
        return self

    @torch.no_grad()
    def predict(self, user, item):
        return (self.mean + self.factors(user, item)).clamp(1, 5)


torch.manual_seed(args.seed)
torch.set_num_threads(1)
taste, kind = torch.randn(60, 3), torch.randn(40, 3)
user, item = torch.randint(60, (3000,)), torch.randint(40, (3000,))
rating = (3 + 0.6 * (taste[user] * kind[item]).sum(1) + 0.2 * torch.randn(3000)).clamp(1, 5)
model = Recommender(60, 40).fit((user[:2500], item[:2500], rating[:2500]), args.steps)
for round_ in range(3):
    loss = model.partial_fit(user[2500:2700], item[2500:2700], rating[2500:2700])
error = (model.predict(user[2700:], item[2700:]) - rating[2700:]).square().mean().sqrt().item()
print(f"later loss {loss:.4f}, error {error:.4f}, of the mean alone {(rating[2700:] - model.mean).square().mean().sqrt():.4f}")

# SPDX-License-Identifier: Apache-2.0
