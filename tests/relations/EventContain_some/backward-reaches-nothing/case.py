# SPDX-License-Identifier: Apache-2.0
"""The loss was detached: the backward is the cause and stands before its effect."""
from trace_writer import Trace


def train(folder, reaches=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, reaches=reaches)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, reaches=[])
