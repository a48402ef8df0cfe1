"""Tabular regression with a best checkpoint and an interrupted, resumed run."""
import argparse
import os
import tempfile

import torch
import torch.nn.functional as F
from sklearn.datasets import make_friedman1
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(seed):
    x, y = make_friedman1(n_samples=1620, n_features=25, noise=3.0, random_state=seed)
    x = torch.tensor(x, dtype=torch.float32) * 2 - 1
    y = torch.tensor(y, dtype=torch.float32)
    mean, std = y[:220].mean(), y[:220].std()
    y = (y - mean) / std
    return (x[:220], y[:220]), (x[220:620], y[220:620]), (x[620:], y[620:])


def build_model():
    return nn.Sequential(
        nn.Linear(25, 256), nn.ReLU(),
        nn.Linear(256, 256), nn.ReLU(),
        nn.Linear(256, 1), nn.Flatten(0),
    )


class Run:
    def __init__(self, args, workdir):
        self.args = args
        torch.manual_seed(args.seed)
        self.model = build_model()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=1e-3)
        self.step = 0
        self.best_metric = float("inf")
        self.best_step = None
        self.last_path = os.path.join(workdir, "last.pt")
        self.best_path = os.path.join(workdir, "best.pt")

    def save_last(self):
        torch.save({
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "best_metric": self.best_metric,
            "best_step": self.best_step,
        }, self.last_path)

    def load_last(self):
        state = torch.load(self.last_path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]
        self.best_metric = state["best_metric"]
        self.best_step = state["best_step"]

    @torch.no_grad()
    def loss_on(self, split):
        self.model.eval()
        value = F.mse_loss(self.model(split[0]), split[1]).item()
        self.model.train()
        return value

    def maybe_save_best(self, metric):
        if metric < self.best_metric:
            self.best_metric = metric
            self.best_step = self.step
            torch.save(self.model.state_dict(), self.best_path)

    def fit(self, train, val, until):
        generator = torch.Generator().manual_seed(self.args.seed + self.step)
        loader = DataLoader(TensorDataset(*train), batch_size=55, shuffle=True, generator=generator)
        while self.step < until:
            for x, y in loader:
                x = x + 0.02 * torch.randn_like(x)
                loss = F.mse_loss(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.step += 1
                if self.step % 5 == 0:
                    metric = self.loss_on(val)
                    self.maybe_save_best(metric)
                    if self.step % 20 == 0:
                        print(f"step {self.step} train {loss.item():.4f} val {metric:.4f}")
                if self.step >= until:
                    break
        self.save_last()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    train, val, test = make_data(args.seed)

    with tempfile.TemporaryDirectory() as workdir:
        first = Run(args, workdir)
        first.fit(train, val, until=args.steps // 2)
        print("node lost, going on from last.pt")
        second = Run(args, workdir)
        second.load_last()
        second.fit(train, val, until=args.steps)
        second.model.load_state_dict(torch.load(second.best_path))
        test_loss = second.loss_on(test)
    print(f"EVIDENCE best_step {second.best_step} best_val {second.best_metric:.4f} "
          f"test_loss {test_loss:.4f}")


if __name__ == "__main__":
    main()
