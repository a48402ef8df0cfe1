# SPDX-License-Identifier: Apache-2.0
"""A script clips the gradient, sees that it is wild, and clears it instead of a step. Where no step goes without that, each micro-batch loses
its gradient."""
from trace_writer import Trace


def train(folder, dropped):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(5):
        for _ in range(2 if i in dropped else 1):
            t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)
            t.clip()
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, ())


def fine(folder):
    train(folder, (2, 4))


def broken(folder):
    train(folder, (0, 1, 2, 3, 4))
