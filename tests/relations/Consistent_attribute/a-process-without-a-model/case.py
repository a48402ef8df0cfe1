# SPDX-License-Identifier: Apache-2.0
"""A process that reads files beside the one that trains holds no variable, and none is missing in it. Where one is frozen that was not,
it is."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, frozen=(), reads=False):
    t = Trace(folder)
    model = t.net("a", "b", frozen=frozen)
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.train_step(model, optimizer)
    t.end()
    if reads:
        reader = Trace(folder, file="trace_p101.jsonl", pid=101)
        reader.op("torch.load", role="function", at="data.py:3", value=reader.tensor(3))
        reader.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, reads=True)


def broken(folder):
    train(folder, frozen=("b",), reads=True)
