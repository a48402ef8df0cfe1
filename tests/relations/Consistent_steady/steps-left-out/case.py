# SPDX-License-Identifier: Apache-2.0
"""Sampling left out steps in which the frozen weight was loaded anew: the step behind them has none before it."""
from trace_writer import Trace


def train(folder, gap=False, written=False):
    t = Trace(folder)
    model = t.net("w", "base", frozen=["base"])
    optimizer = t.optimizer(model, params=[model.var("w")])
    for i in range(6):
        if i == 3 and gap:
            t.write({"type": "note", "t": t.tick(), "code": "sampling-off"})
            t.number += 4
            t.write({"type": "note", "t": t.tick(), "code": "sampling-on", "count": 4})
        if i == 3 and written:
            t.change(model.var("base"), inside=False)
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, reaches=[model.var("w")])
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, gap=True, written=True)


def broken(folder):
    train(folder, written=True)
