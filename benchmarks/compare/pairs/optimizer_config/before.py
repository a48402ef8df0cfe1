"""Factorization model of ratings; everything to choose is in CONFIG."""
import argparse

import torch
import torch.nn as nn

CONFIG = {
    "users": 200,
    "items": 120,
    "factors": 12,
    "batch_size": 128,
    "loss": "huber",
    "optimizer": {"name": "Adam", "lr": 1e-2, "weight_decay": 1e-2},
    "schedule": {"name": "StepLR", "step_size": 100, "gamma": 0.5},
}


class Ratings:
    """Ratings from hidden factors with some noise; drawn once."""

    def __init__(self, users, items, generator, rank=4, count=12000):
        u = torch.randn(users, rank, generator=generator)
        v = torch.randn(items, rank, generator=generator)
        self.user = torch.randint(0, users, (count,), generator=generator)
        self.item = torch.randint(0, items, (count,), generator=generator)
        clean = (u[self.user] * v[self.item]).sum(1) / rank ** 0.5
        self.rating = clean + 0.2 * torch.randn(count, generator=generator)

    def batch(self, size, generator):
        i = torch.randint(0, len(self.rating), (size,), generator=generator)
        return self.user[i], self.item[i], self.rating[i]


class Factorization(nn.Module):
    def __init__(self, users, items, factors):
        super().__init__()
        self.user = nn.Embedding(users, factors)
        self.item = nn.Embedding(items, factors)
        self.user_bias = nn.Embedding(users, 1)
        self.item_bias = nn.Embedding(items, 1)
        for table in (self.user, self.item):
            nn.init.normal_(table.weight, std=0.3)
        for table in (self.user_bias, self.item_bias):
            nn.init.zeros_(table.weight)

    def forward(self, user, item):
        dot = (self.user(user) * self.item(item)).sum(1)
        return dot + self.user_bias(user).squeeze(1) + self.item_bias(item).squeeze(1)


def build(namespace, options, *args):
    """Make an object from its name and options."""
    options = dict(options)
    return getattr(namespace, options.pop("name"))(*args, **options)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    ratings = Ratings(CONFIG["users"], CONFIG["items"], generator)
    model = Factorization(CONFIG["users"], CONFIG["items"], CONFIG["factors"])
    optimizer = build(torch.optim, CONFIG["optimizer"], model.parameters())
    schedule = build(torch.optim.lr_scheduler, CONFIG["schedule"], optimizer)
    criterion = {"huber": nn.HuberLoss(), "mse": nn.MSELoss()}[CONFIG["loss"]]

    for step in range(args.steps):
        user, item, rating = ratings.batch(CONFIG["batch_size"], generator)
        loss = criterion(model(user, item), rating)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 40 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")

    with torch.no_grad():
        error = (model(ratings.user, ratings.item) - ratings.rating).abs().mean().item()
    print(f"mean error {error:.6f}")
    print(f"weight sum {sum(p.double().sum().item() for p in model.parameters()):.10f}")


if __name__ == "__main__":
    main()
