"""A surrogate of a wave on a string; the run is cut in two and compared with one that was not."""
import argparse
import os
import tempfile
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    seed: int = 0
    lr: float = 0.003
    steps: int = 240
    points: int = 32
    batch: int = 24


def waves(count, points):
    place = torch.linspace(0, 3.1416, points)
    parts = torch.randn(count, 3) / torch.arange(1, 4)
    turn = lambda t: sum((parts[:, k, None] * torch.cos(torch.tensor(0.4 * (k + 1) * t)) * torch.sin((k + 1) * place))
                         for k in range(3))
    return torch.stack([turn(0), turn(1)], 1), turn(2)


class Trainer:
    def __init__(self, config, x, y):
        self.config, self.x, self.y = config, x, y
        generator = torch.Generator().manual_seed(config.seed)
        torch.manual_seed(config.seed)
        self.model = nn.Sequential(nn.Conv1d(2, 16, 5, padding=2), nn.GELU(), nn.Conv1d(16, 16, 5, padding=2), nn.GELU(),
                                   nn.Conv1d(16, 1, 5, padding=2))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config.lr, betas=(0.95, 0.999))
        self.order = torch.randint(len(x), (config.steps, config.batch), generator=generator)
        self.step, self.losses = 0, []

    def save_model(self, path):
        torch.save({"epoch": self.step, "model_state_dict": self.model.state_dict(),
                    "optimizer_state_dict": self.optimizer.state_dict()}, path)

    def load_checkpoint(self, path):
        checkpoint = torch.load(path, weights_only=True)
        self.model.load_state_dict(checkpoint["model_state_dict"])
        if "optimizer_state_dict" in checkpoint:
            self.optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
        self.step = checkpoint["epoch"]

    def train(self, until):
        while self.step < until:
            rows = self.order[self.step]
            loss = nn.functional.mse_loss(self.model(self.x[rows]).squeeze(1), self.y[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            self.losses.append(loss.item())
        print(f"step {self.step}: loss {sum(self.losses[-10:]) / 10:.5f}")


def main():
    config = Config()
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=config.seed)
    parser.add_argument("--lr", type=float, default=config.lr)
    parser.add_argument("--steps", type=int, default=config.steps)
    config = Config(**vars(parser.parse_args()))
    torch.set_num_threads(1)
    torch.manual_seed(config.seed)
    x, y = waves(400, config.points)
    whole = Trainer(config, x, y)
    whole.train(config.steps)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "recent.pt")
        first = Trainer(config, x, y)
        first.train(config.steps // 2)
        first.save_model(path)
        second = Trainer(config, x, y)
        second.load_checkpoint(path)
        moments = sum("exp_avg" in s for s in second.optimizer.state.values())
        second.train(config.steps)
    apart = sum((p - q).abs().sum().item() for p, q in zip(whole.model.parameters(), second.model.parameters()))
    print(f"EVIDENCE {moments} parameters have moments after loading; both runs end {apart:.6f} apart")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
