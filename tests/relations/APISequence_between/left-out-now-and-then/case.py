# SPDX-License-Identifier: Apache-2.0
"""A script looks at a gradient by a way of its own, and seldom gives it up for that of half the batch. Where it comes at equal distances, as the
rest of an accumulation at the end of each epoch, or often, gradients are lost."""
from trace_writer import Trace


def train(folder, left_out):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(60):
        for _ in range(2 if i in left_out else 1):
            t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, ())


def fine(folder):
    train(folder, (15, 39, 50))


def broken(folder):
    train(folder, (12, 25, 38, 51, 58))
