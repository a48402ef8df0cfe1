"""Training that is cut in the middle of an epoch, saved, and taken up again by a new trainer."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Sampler, TensorDataset


class EpochSampler(Sampler):
    """The order of rows follows from seed and epoch."""

    def __init__(self, size, seed):
        self.size, self.seed, self.epoch = size, seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        gen = torch.Generator().manual_seed(self.seed + 1000 * self.epoch)
        return iter(torch.randperm(self.size, generator=gen).tolist())

    def __len__(self):
        return self.size


class EpochLoader:
    """Tells its sampler the epoch when it is iterated, and counts epochs by itself."""

    def __init__(self, data, sampler, batch_size, skip=0, iteration=0):
        self.loader = DataLoader(data, batch_size=batch_size, sampler=sampler, drop_last=True)
        self.sampler, self.skip, self.iteration = sampler, skip, iteration

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        self.sampler.set_epoch(self.iteration)
        for k, batch in enumerate(self.loader):
            if k >= self.skip:
                yield batch
        self.iteration += 1


def skip_first_batches(loader, data, batch_size, skip):
    return EpochLoader(data, loader.sampler, batch_size, skip=skip, iteration=loader.iteration)


class Trainer:
    def __init__(self, args, data):
        torch.manual_seed(args.seed)
        self.args, self.data, self.step, self.seen = args, data, 0, []
        self.model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda k: min((k + 1) / 10, max(0.05, 1 - k / args.steps)))
        self.loader = EpochLoader(data, EpochSampler(len(data), args.seed), 50)

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "schedule": self.schedule.state_dict(), "step": self.step}, path)

    def load(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.step = state["step"]

    def fit(self, until):
        epoch, within = divmod(self.step, len(self.loader))
        self.loader.iteration = epoch
        while self.step < until:
            loader = skip_first_batches(self.loader, self.data, 50, within) if within else self.loader
            for rows, x, y in loader:
                loss = F.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.schedule.step()
                self.seen.append((self.step // len(self.loader), rows))
                self.step += 1
                if self.step >= until:
                    break
            epoch, within = epoch + 1, 0
            self.loader.iteration = epoch
        print(f"step {self.step} loss {loss.item():.4f} rate {self.schedule.get_last_lr()[0]:.6f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=90)
    args = ap.parse_args()
    digits = load_digits()
    x, y = torch.tensor(digits.data / 16.0, dtype=torch.float32), torch.tensor(digits.target)
    data = TensorDataset(torch.arange(1200), x[:1200], y[:1200])
    first = Trainer(args, data)
    first.fit(2 * args.steps // 5)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        first.save(path)
        second = Trainer(args, data)
        second.load(path)
    second.fit(args.steps)
    cut = (2 * args.steps // 5) // len(first.loader)
    rows = torch.cat([r for epoch, r in first.seen + second.seen if epoch == cut])
    twice = len(rows) - len(rows.unique())
    with torch.no_grad():
        held_out = F.cross_entropy(second.model(x[1200:]), y[1200:]).item()
    rates = second.optimizer.param_groups[0]["lr"]
    print(f"EVIDENCE seen_twice={twice} last_rate={rates:.7f} scheduled={second.schedule.last_epoch} held_out={held_out:.5f}")


if __name__ == "__main__":
    main()
