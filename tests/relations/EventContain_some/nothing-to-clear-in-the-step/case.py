# SPDX-License-Identifier: Apache-2.0
"""The first of two micro-batches clears the gradients, outside of the step; had it nothing to learn, the step finds none, and need not clear any."""
from trace_writer import Trace


def train(folder, apart=(), clears=True):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(8):
        def closure():
            if clears and i not in apart:
                t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)

        if i in apart:
            t.zero_grad(optimizer)
        t.step(optimizer, closure=closure)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, apart=[3, 5])


def broken(folder):
    train(folder, clears=False)
