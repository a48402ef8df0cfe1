# SPDX-License-Identifier: Apache-2.0
"""How many rows a batch has varies, and 60 of them are read from a file. Where it has more than a step has room for, some of the 60 may be
among those that the trace leaves out."""
from trace_writer import Trace

OPTIONS = ["--specific"]
WRITE, READ, FILL = "torch.Tensor.__setitem__", "torch.Tensor.__getitem__", "torch.Tensor.index_fill"


def fill_batch(t, n, n_told):
    rows = [t.tensor(4) for _ in range(n)]
    for i, row in enumerate(rows):
        t.op(READ if i < 60 else FILL, role="operator", at="train.py:8" if i < 200 else "train.py:9", value=row, self=t.tensor(9, 4))
    for row in rows[n - n_told:]:
        t.op(WRITE, role="operator", at="train.py:10", self=row, args={"index": 1, "value": 1})


def train(folder, sizes, n_untold=0):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.stage = "training"
    for n in sizes:
        fill_batch(t, n, n - n_untold)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, (100, 120, 80, 90))


def healthy_again(folder):
    train(folder, (110, 90, 130, 100))


def fine(folder):
    train(folder, (266, 266, 266, 266), n_untold=10)


def broken(folder):
    train(folder, (100, 110, 90, 80), n_untold=10)
