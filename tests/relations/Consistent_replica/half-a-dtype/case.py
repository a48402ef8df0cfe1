# SPDX-License-Identifier: Apache-2.0
"""One rank holds a parameter in another dtype: data and dtype differ."""
from trace_writer import Trace


def rank(folder, number, half=False):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.net("w")
    optimizer = t.optimizer(model)
    if half and number == 0:
        t.set(model.var("w"), data="00000000000000aa", dtype="bfloat16")
    for _ in range(4):
        t.train_step(model, optimizer, changes=[] if half else None)
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def broken(folder):
    rank(folder, 0, half=True)
    rank(folder, 1, half=True)
