# SPDX-License-Identifier: Apache-2.0
"""Two ranks write two files; each is judged by itself, and repeats are counted over both."""
from trace_writer import Trace


def rank(folder, number, changes=None):
    t = Trace(folder, pid=number + 1, rank=number, world=2)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer, changes)
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def broken(folder):
    rank(folder, 0)
    rank(folder, 1, changes=[])
