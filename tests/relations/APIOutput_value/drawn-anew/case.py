# SPDX-License-Identifier: Apache-2.0
"""An order that each epoch draws anew; in the broken run the generator is seeded in each epoch. Of what is short nothing is said."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def draw(t, fn, n, digest):
    value = {**t.tensor(n, dtype="int64"), "digest": f"{digest:016x}",
             "summary": {"min": 0, "max": n - 1, "distinct": n, "negative": 0, "zero": 1, "one": 1}}
    t.op(fn, value=value, at="train.py:20", args={"n": n})


def train(folder, orders, coins=(7, 8, 7, 9)):
    t = Trace(folder, schema=4, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for order, coin in zip(orders, coins):
        draw(t, "torch.order", 64, order)
        draw(t, "torch.coin", 2, coin)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, (1, 2, 3, 4))


def healthy_again(folder):
    train(folder, (5, 6, 7, 8))


def fine(folder):
    train(folder, (1, 2, 3, 4), coins=(7, 7, 7, 7))


def broken(folder):
    train(folder, (5, 5, 5, 5))
