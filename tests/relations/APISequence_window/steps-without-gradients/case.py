# SPDX-License-Identifier: Apache-2.0
"""Loops of libraries step without gradients for a moment; an optimizer that never had any, or has none for three steps, has lost its
backward."""
from trace_writer import Trace


def train(folder, without=()):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(9):
        t.zero_grad(optimizer)
        t.forward(model)
        if i not in without:
            t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, without=[3, 6, 7])


def broken_for_five_steps(folder):
    train(folder, without=[3, 4, 5, 6, 7])
