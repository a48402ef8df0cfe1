# SPDX-License-Identifier: Apache-2.0
"""The elements of what a call gives are not all the same: once that may be chance, and where each call of the run gives such it is reported when
the run ends, at whatever number of calls."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def words(t, are_same):
    return {**t.tensor(8, 12, dtype="int64"), "summary": {"min": 0, "max": 0 if are_same else 9, "distinct": 9, "negative": 0, "zero": 8, "one": 9}}


def train(folder, uniform):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for are_same in uniform:
        t.op("torch.look", at="train.py:20", value=words(t, are_same))
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, (False, False, False))


def healthy_again(folder):
    train(folder, (False, False, False))


def fine(folder):
    train(folder, (False, True, False))


def broken(folder):
    train(folder, (True, True))
