# SPDX-License-Identifier: Apache-2.0
"""A line search ends on a point that its closure has tried: the change was seen while the step was open, by the look of a call inside."""
from trace_writer import Trace


def train(folder, moves=True):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)

    def closure():
        if moves:
            t.change(model.var("w"), inside=False)
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)

    for _ in range(4):
        t.step(optimizer, changes=[], closure=closure)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, moves=False)
