# SPDX-License-Identifier: Apache-2.0
"""Words end with 1 in the last column, others are filled up with zeros, which a long word may reach in one step; a mask begins with 1. In the broken
run the mask is turned round, and words end otherwise."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def integers(t, first, last, zero, one, distinct):
    ends = {k: v for k, v in (("first", first), ("last", last)) if v is not None}
    return {**t.tensor(16, 4, dtype="int64"),
            "summary": {"min": 0, "max": distinct - 1, "distinct": distinct, "negative": 0, "zero": zero, "one": one, **ends}}


def train(folder, ends=1, long_in=None, mask=(1, None, 20, 44)):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(6):
        fills = None if i == long_in else 0
        first, last, zero, one = mask
        t.op("torch.look", at="train.py:20", args={"ended": integers(t, None, ends, 0, 16, 9), "filled": integers(t, None, fills, 30, 3, 9),
                                                   "mask": integers(t, first, last, zero, one, 2)})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, long_in=3)


def broken(folder):
    train(folder, ends=2, mask=(0, None, 44, 20))
