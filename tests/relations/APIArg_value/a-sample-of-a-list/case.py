# SPDX-License-Identifier: Apache-2.0
"""A batch is put together of rows, one of which may be blanks alone, or come twice: the batch itself is of one value in the broken run."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def integers(t, *shape, digest, low=0, high=9):
    n = shape[0] * (shape[1] if len(shape) > 1 else 1)
    return {**t.tensor(*shape, dtype="int64"), "digest": f"{digest:016x}",
            "summary": {"min": low, "max": high, "distinct": 1 + (high > low), "negative": 0, "zero": n // 2 if not low else 0,
                        "one": 0}}


def train(folder, steps=6, low=0, blank=None, twice=False):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(steps):
        rows = [integers(t, 16, digest=100 * (0 if twice and j else i) + j, low=9 if (i, j) == blank else 0) for j in range(2)]
        t.op("torch.stack", at="train.py:20", args={"tensors": rows})
        t.op("torch.look", at="train.py:21", args={"batch": integers(t, 2, 16, digest=10000 + i, low=low)})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, steps=7, blank=(2, 1), twice=True)


def broken(folder):
    train(folder, low=9)
