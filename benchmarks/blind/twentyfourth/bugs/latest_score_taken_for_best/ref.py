"""Training that is interrupted and goes on from its last checkpoint; the best epoch is kept in a file of its own."""
import argparse
import os
import tempfile

import torch
from torch import nn

DIM, CLASSES = 30, 4


class Trainer:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        torch.manual_seed(args.seed)
        self.model = nn.Sequential(nn.Linear(DIM, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, CLASSES))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.epoch, self.best_metric = 0, -1.0
        self.history = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, name, metric):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": self.epoch,
                    "acc": metric, "best_metric": self.best_metric, "history": self.history}, self.path(name))

    def resume(self):
        checkpoint = torch.load(self.path("last.pt"), weights_only=True)
        self.model.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.epoch, self.history = checkpoint["epoch"], checkpoint["history"]
        self.best_metric = checkpoint["best_metric"]

    def validate(self, data):
        self.model.eval()
        with torch.no_grad():
            hits = (self.model(data[0]).argmax(1) == data[1]).float().mean().item()
        self.model.train()
        return hits

    def fit(self, train, held_out, epochs):
        while self.epoch < epochs:
            order = torch.randperm(len(train[0]), generator=torch.Generator().manual_seed(1000 + self.epoch))
            for rows in order.split(20):
                loss = nn.functional.cross_entropy(self.model(train[0][rows]), train[1][rows])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.epoch += 1
            metric = self.validate(held_out)
            self.history.append(metric)
            if metric > self.best_metric:
                self.best_metric = metric
                self.save("best.pt", metric)
            self.save("last.pt", metric)
            print(f"epoch {self.epoch} loss {loss.item():.4f} accuracy {metric:.4f}")


def patients(seed, n, slips):
    """Few rows with some wrong labels: the network soon learns them by heart."""
    gen = torch.Generator().manual_seed(seed)
    rule = torch.randn(DIM, CLASSES, generator=torch.Generator().manual_seed(14))
    x = torch.randn(n, DIM, generator=gen)
    y = (x @ rule).argmax(1)
    wrong = torch.rand(n, generator=gen) < slips
    return x, torch.where(wrong, torch.randint(0, CLASSES, (n,), generator=gen), y)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=40, help="epochs; the run is cut after half of them")
    args = parser.parse_args()
    torch.set_num_threads(1)
    train, held_out = patients(args.seed + 60, 200, 0.35), patients(args.seed + 6000, 500, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        Trainer(args, folder).fit(train, held_out, args.steps // 2)
        trainer = Trainer(args, folder)
        trainer.resume()
        trainer.fit(train, held_out, args.steps)
        trainer.model.load_state_dict(torch.load(trainer.path("best.pt"), weights_only=True)["model"])
        kept = trainer.validate(held_out)
    print(f"EVIDENCE kept_in_best_file={kept:.4f} best_ever_seen={max(trainer.history):.4f}")


if __name__ == "__main__":
    main()
