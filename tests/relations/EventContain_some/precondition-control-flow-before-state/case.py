# SPDX-License-Identifier: Apache-2.0
"""
Steps without a backward change nothing, and then no parameter has a gradient. Both would
explain it; only "after a backward" does not excuse a backward that reaches nothing.
"""
from trace_writer import Trace


def train(folder, without_backward=(), reaches=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(8):
        t.zero_grad(optimizer)
        t.forward(model)
        if i not in without_backward:
            t.backward(model, reaches=reaches)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, without_backward=(0, 4))


def fine(folder):
    train(folder, without_backward=range(8))


def broken(folder):
    train(folder, reaches=[])
