"""A little project in one file: configuration, data, network, trainer, table of results and checkpoints."""

import argparse
import csv
import dataclasses
import json
import pathlib
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclasses.dataclass
class Config:
    seed: int = 0
    lr: float = 0.004
    steps: int = 120
    classes: int = 5
    batch: int = 32
    width: int = 12
    smoothing: float = 0.1
    keep: int = 3
    log_every: int = 10


class Stripes(Dataset):
    """Pictures with stripes; the direction is the class. Training pictures are turned by a little noise."""

    def __init__(self, count, config, training):
        self.training, self.size = training, 12
        self.labels = torch.randint(config.classes, (count,))
        self.phases = torch.rand(count) * 6.28
        self.classes = config.classes

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        angle = 3.1416 * self.labels[index] / self.classes
        if self.training:
            angle = angle + 0.05 * torch.randn(())
        grid = torch.arange(self.size).float()
        wave = angle.cos() * grid[:, None] + angle.sin() * grid[None]
        picture = (wave + self.phases[index]).sin()
        return (picture + 0.3 * torch.randn_like(picture))[None], self.labels[index]


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        w = config.width
        self.stem = nn.Sequential(nn.Conv2d(1, w, 3, padding=1, bias=False), nn.BatchNorm2d(w), nn.ReLU())
        self.down = nn.Sequential(nn.Conv2d(w, 2 * w, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(2 * w), nn.ReLU())
        self.head = nn.Linear(2 * w, config.classes)
        nn.init.zeros_(self.head.weight)

    def forward(self, x):
        return self.head(self.down(self.stem(x)).mean((2, 3)))


class Table:
    """Rows as they come, in a file that a spreadsheet reads."""

    def __init__(self, path, columns):
        self.file = open(path, "w", newline="")
        self.writer = csv.DictWriter(self.file, columns)
        self.writer.writeheader()

    def row(self, **values):
        self.writer.writerow(values)
        self.file.flush()


class Trainer:
    def __init__(self, config, folder):
        self.config, self.folder, self.step, self.best = config, folder, 0, 0.0
        self.net = Net(config)
        decay = [p for p in self.net.parameters() if p.ndim > 1]
        rest = [p for p in self.net.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}],
                                           lr=config.lr)
        self.plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, mode="max", factor=0.5, patience=0)
        self.table = Table(folder / "results.csv", ["step", "loss", "accuracy", "lr", "seconds"])
        self.train_loss = nn.CrossEntropyLoss(label_smoothing=config.smoothing)
        (folder / "config.json").write_text(json.dumps(dataclasses.asdict(config)))
        self.started = time.time()

    def epoch(self, loader):
        self.net.train()
        running = 0.0
        for x, y in loader:
            loss = self.train_loss(self.net(x), y)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            running = loss.item() if self.step == 0 else 0.9 * running + 0.1 * loss.item()
            self.step += 1
            if self.step % self.config.log_every == 0:
                print(f"step {self.step}: running loss {running:.4f}")
            if self.step >= self.config.steps:
                break

    @torch.no_grad()
    def validate(self, loader):
        self.net.eval()
        right, loss, count = 0, 0.0, 0
        for x, y in loader:
            logits = self.net(x)
            loss += nn.functional.cross_entropy(logits, y, reduction="sum").item()
            right, count = right + (logits.argmax(1) == y).sum().item(), count + len(y)
        return loss / count, right / count

    def save(self):
        torch.save({"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step},
                   self.folder / f"step-{self.step:06d}.pt")
        for old in sorted(self.folder.glob("step-*.pt"))[:-self.config.keep]:
            old.unlink()

    def fit(self, train, valid):
        while self.step < self.config.steps:
            self.epoch(train)
            loss, accuracy = self.validate(valid)
            self.plateau.step(accuracy)
            self.table.row(step=self.step, loss=loss, accuracy=accuracy, lr=self.optimizer.param_groups[0]["lr"],
                           seconds=round(time.time() - self.started, 2))
            self.save()
            if accuracy > self.best:
                self.best = accuracy
                torch.save(self.net.state_dict(), self.folder / "best.pt")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=Config.lr)
    parser.add_argument("--steps", type=int, default=Config.steps)
    config = Config(**vars(parser.parse_args()))
    torch.manual_seed(config.seed)
    torch.set_num_threads(1)
    train = DataLoader(Stripes(640, config, True), batch_size=config.batch, shuffle=True, drop_last=True)
    valid = DataLoader(Stripes(200, config, False), batch_size=100)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(config, pathlib.Path(folder))
        trainer.fit(train, valid)
        trainer.net.load_state_dict(torch.load(trainer.folder / "best.pt", weights_only=True))
        print(f"best {trainer.best:.4f}, again {trainer.validate(valid)[1]:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
