# SPDX-License-Identifier: Apache-2.0
"""Of the micro-batches of a step only the first gives a gradient to what had none; the others say nothing."""
from trace_writer import Trace


def train(folder, reaches=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(4):
        for _ in range(3):
            t.forward(model)
            t.backward(model, reaches=reaches)
        t.step(optimizer, changes=model.parameters)
        t.zero_grad(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, reaches=[])
