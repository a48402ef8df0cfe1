# SPDX-License-Identifier: Apache-2.0
"""A closure finds nothing to learn from its batch, and makes no backward: the gradients of the step before are left, or cleared. One without a
backward for three steps has lost it."""
from trace_writer import Trace


def train(folder, without=(), clears=True):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(9):
        def closure():
            if clears:
                t.zero_grad(optimizer)
            t.forward(model)
            if i not in without:
                t.backward(model)

        t.step(optimizer, closure=closure)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, without=[3, 6, 7])


def fine_left_over(folder):
    train(folder, without=[3, 6, 7], clears=False)


def broken(folder):
    train(folder, without=[3, 4, 5, 6, 7])


def broken_left_over(folder):
    train(folder, without=[3, 4, 5, 6, 7], clears=False)
