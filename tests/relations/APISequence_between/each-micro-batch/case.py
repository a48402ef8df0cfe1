# SPDX-License-Identifier: Apache-2.0
"""Cleared at each micro-batch, all gradients but those of the last are lost."""
from trace_writer import Trace


def train(folder, clears):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        for i in range(3):
            if i in clears:
                t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, clears=[0])


def broken(folder):
    train(folder, clears=[0, 1, 2])
