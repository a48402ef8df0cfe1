# SPDX-License-Identifier: Apache-2.0
"""Micro-batches add to one gradient; it is cleared once for each step."""
from trace_writer import Trace


def train(folder, clears=True):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(4):
        for _ in range(3):
            t.forward(model)
            t.backward(model)
        t.step(optimizer)
        if clears:
            t.zero_grad(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, clears=False)
