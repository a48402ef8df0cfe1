# SPDX-License-Identifier: Apache-2.0
"""A tensor is filled bit by bit: what it holds meanwhile is one occasion, whose last column is by chance as it is. Of the batches of
training the last column is always zero, but in the broken run."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]
PUT = "torch.Tensor.__setitem__"


def holding(tensor, last):
    return {**tensor, "summary": {"true": 8, "false": 56, **({} if last is None else {"last": last})}}


def train(folder, filled=False, batch=False):
    t = Trace(folder, operators=True, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    table = t.tensor(16, 4, dtype="bool")
    for i in range(16):
        t.op(PUT, role="operator", at="train.py:10", self=holding(table, filled), args={"index": i, "value": True})
    for _ in range(8):
        t.op("torch.look", at="train.py:20", args={"mask": holding(t.tensor(16, 4, dtype="bool"), batch)})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, filled=None)


def broken(folder):
    train(folder, batch=None)
