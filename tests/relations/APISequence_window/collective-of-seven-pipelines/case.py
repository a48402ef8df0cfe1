# SPDX-License-Identifier: Apache-2.0
"""Seven scripts that reduce at the same place do not do so by chance."""
from trace_writer import Trace

PIPELINES = 7


def healthy(folder, i):
    train(folder)


def train(folder, reduces=True):
    t = Trace(folder, rank=0, world=2)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if reduces:
            t.all_reduce()
        t.step(optimizer)
        t.cut()
    t.end()


def broken(folder):
    train(folder, reduces=False)
