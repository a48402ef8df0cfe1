"""Train a small CNN on digits; the run is cut once and goes on from its checkpoint."""
import argparse
import itertools
import os
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Linear(48 * 4, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def load_data(seed):
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    order = np.random.default_rng(seed).permutation(len(y))
    x, y = x[order], y[order]
    return TensorDataset(x[:1400], y[:1400]), x[1400:], y[1400:]


def build_loader(dataset, epoch, seed):
    """The order of an epoch is a function of seed and epoch, so it can be replayed."""
    generator = torch.Generator().manual_seed(seed * 1000 + epoch)
    return DataLoader(dataset, batch_size=100, shuffle=True, generator=generator)


class Trainer:
    def __init__(self, args, dataset, workdir):
        self.args, self.dataset = args, dataset
        self.path = os.path.join(workdir, "last.pt")
        torch.manual_seed(args.seed)
        self.model = SmallCNN()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.LinearLR(
            self.optimizer, start_factor=1.0, end_factor=0.02, total_iters=args.steps)
        self.steps_per_epoch = len(build_loader(dataset, 0, args.seed))
        self.num_epochs = -(-args.steps // self.steps_per_epoch)
        self.global_step = 0

    def save(self):
        torch.save({
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "global_step": self.global_step,
        }, self.path)

    def resume(self):
        state = torch.load(self.path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.global_step = state["global_step"]

    def fit(self, stop_at=None):
        first_epoch, resume_step = divmod(self.global_step, self.steps_per_epoch)
        for epoch in range(first_epoch, self.num_epochs):
            loader = build_loader(self.dataset, epoch, self.args.seed)
            batches = iter(loader)
            if epoch == first_epoch and resume_step > 0:
                batches = itertools.islice(batches, resume_step, None)
            for x, y in batches:
                self.model.train()
                loss = F.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                self.global_step += 1
                if self.global_step % 10 == 0:
                    print(f"epoch {epoch} step {self.global_step} loss {loss.item():.4f}")
                if self.global_step == stop_at:
                    self.save()
                    return
                if self.global_step == self.args.steps:
                    return


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    return (logits.argmax(1) == y).float().mean().item(), F.cross_entropy(logits, y).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.03)
    parser.add_argument("--steps", type=int, default=112)
    args = parser.parse_args()
    dataset, x_test, y_test = load_data(args.seed)
    with tempfile.TemporaryDirectory() as workdir:
        Trainer(args, dataset, workdir).fit(stop_at=int(args.steps * 0.2))
        print("interrupted, starting again from last.pt")
        trainer = Trainer(args, dataset, workdir)
        trainer.resume()
        trainer.fit()
    acc, loss = evaluate(trainer.model, x_test, y_test)
    print(f"EVIDENCE test_acc {acc:.4f} test_loss {loss:.4f} final_step {trainer.global_step}")


if __name__ == "__main__":
    main()
