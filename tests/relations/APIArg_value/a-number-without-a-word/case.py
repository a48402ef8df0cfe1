# SPDX-License-Identifier: Apache-2.0
"""JSON has no word for minus infinity, and a trace writes an object in its place: it is a value as any other, which a finite one breaks."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]


def train(folder, fill):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.masked_fill", at="train.py:20", args={"mask": t.tensor(4), "value": fill})
    t.end()


def healthy(folder):
    train(folder, {"float": "-inf"})


def healthy_again(folder):
    train(folder, {"float": "-inf"})


def broken(folder):
    train(folder, 0.0)
