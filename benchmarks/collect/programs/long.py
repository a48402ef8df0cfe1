"""Small steps with pauses for BENCH_SECONDS; run by ../long.py.

Every SAMPLE seconds it notes its time, steps and memory; at the end, how often it called F.relu.
"""
import json
import os
import pathlib
import time

import torch
import torch.nn.functional as F
from torch import nn

SAMPLE, PAUSE = 0.25, 0.004


class Net(nn.Module):
    n_calls = 0

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        Net.n_calls += 1
        return self.second(F.relu(self.first(x)))


def resident_kb():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def main():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    due = time.monotonic()
    end = due + float(os.environ["BENCH_SECONDS"])
    samples = []
    while time.monotonic() < end:
        optimizer.zero_grad()
        x = torch.randn(8, 16)
        F.mse_loss(model(x), x[:, :4]).backward()
        optimizer.step()
        time.sleep(PAUSE)
        if time.monotonic() >= due:
            samples.append((time.monotonic(), Net.n_calls, resident_kb()))
            due += SAMPLE
    with open(os.environ["BENCH_OUT"], "w", encoding="utf-8") as out:
        json.dump({"samples": samples, "relu": Net.n_calls}, out)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
