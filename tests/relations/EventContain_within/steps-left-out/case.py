# SPDX-License-Identifier: Apache-2.0
"""Sampling left out steps, in which the optimizer went on: no script wrote to the weights that the next step finds."""
from trace_writer import Trace


def train(folder, gap=False, written_at=None):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(6):
        if i == 3 and gap:
            t.write({"type": "note", "t": t.tick(), "code": "sampling-off"})
            t.number += 4
            t.write({"type": "note", "t": t.tick(), "code": "sampling-on", "count": 4})
            t.change(model.var("w"), inside=False)
        if i == written_at:
            t.change(model.var("w"), inside=False)
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, gap=True)


def broken(folder):
    train(folder, gap=True, written_at=5)
