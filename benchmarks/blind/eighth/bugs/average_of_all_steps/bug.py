"""Handwritten digits; the weights are averaged exponentially and the average is what is shipped."""

import argparse
from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    seed: int = 0
    lr: float = 0.05
    steps: int = 400
    batch_size: int = 64
    decay: float = 0.95
    width: int = 96


def parse_config():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("seed", "lr", "steps"):
        default = getattr(Config, name)
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return Config(**vars(parser.parse_args()))


def load_data(cfg):
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16
    y = torch.tensor(digits.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(cfg.seed))
    x, y = x[order], y[order]
    return TensorDataset(x[:1400], y[:1400]), (x[1400:], y[1400:])


def build(cfg):
    layers = [nn.Linear(64, cfg.width), nn.ReLU(), nn.Linear(cfg.width, cfg.width), nn.ReLU(), nn.Linear(cfg.width, 10)]
    model = nn.Sequential(*layers)
    ema = AveragedModel(model)
    return model, ema


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    model.train()
    return nn.functional.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def train(cfg):
    torch.manual_seed(cfg.seed)
    torch.set_num_threads(1)
    data, valid = load_data(cfg)
    loader = DataLoader(data, batch_size=cfg.batch_size, shuffle=True, drop_last=True)
    model, ema = build(cfg)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    step = 0
    while step < cfg.steps:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            ema.update_parameters(model)
            step += 1
            if step % 50 == 0:
                print(f"step {step}: loss {loss.item():.4f}, valid {evaluate(model, *valid)}, average {evaluate(ema, *valid)}")
            if step == cfg.steps:
                break
    distance = sum((a - b).pow(2).sum() for a, b in zip(model.parameters(), ema.module.parameters())).sqrt().item()
    loss, right = evaluate(ema, *valid)
    print(f"EVIDENCE the average lies {distance:.4f} from the weights, its validation loss is {loss:.4f}, right {right:.3f}")


if __name__ == "__main__":
    train(parse_config())

# SPDX-License-Identifier: Apache-2.0
