# SPDX-License-Identifier: Apache-2.0
"""A network of three layers on a batch that stays: a step of some milliseconds, of which tracing is a large part."""
import torch
from meter import STEPS, Meter
from torch import nn


def main():
    torch.manual_seed(0)
    meter = Meter()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    inputs, labels = torch.randn(512, 64), torch.randint(10, (512,))
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model(inputs), labels).backward()
        optimizer.step()
        meter.tick()
    meter.write()


if __name__ == "__main__":
    main()
