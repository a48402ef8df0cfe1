# SPDX-License-Identifier: Apache-2.0
"""From the third step on the weights of rank 1 get an update of their own."""
from trace_writer import Trace


def rank(folder, number, drifts_from=None):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if i == drifts_from and number == 1:
            t.change(model.var("w"))
        t.cut()
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def broken(folder):
    rank(folder, 0, drifts_from=2)
    rank(folder, 1, drifts_from=2)
