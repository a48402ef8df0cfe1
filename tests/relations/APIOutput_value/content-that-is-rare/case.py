# SPDX-License-Identifier: Apache-2.0
"""What a call gives now and then shows no column of zeros: once that may be chance, and where each call of the run shows one it is reported when
the run ends, at whatever number of calls."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def words(t, first):
    return {**t.tensor(8, 12, dtype="int64"), "summary": {"min": 0, "max": 9, "distinct": 9, "negative": 0, "zero": 8, "one": 9,
                                                          **({} if first is None else {"first": first})}}


def train(folder, firsts):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for first in firsts:
        t.op("torch.look", at="train.py:20", value=words(t, first))
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, (None, None, None))


def healthy_again(folder):
    train(folder, (None, None, None))


def fine(folder):
    train(folder, (None, 0, None))


def broken(folder):
    train(folder, (0, 0))
