# SPDX-License-Identifier: Apache-2.0
"""Zero and booleans are classes; how much a number is, or what a text says, is the script's own choice."""
from trace_writer import Trace

PIPELINES = 7


def train(folder, bias=False, rate=0.5, shift=0):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.scale", at="train.py:30",
             args={"bias": bias, "rate": rate, "shift": shift, "name": "relu", "size": [3, 4], "none": None, "0": 0})
    t.end()


def healthy(folder, i):
    train(folder)


def fine(folder):
    train(folder, rate=0.9)


def broken(folder):
    train(folder, shift=2)
