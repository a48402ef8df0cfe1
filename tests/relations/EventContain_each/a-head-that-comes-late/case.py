# SPDX-License-Identifier: Apache-2.0
"""Of two heads that stand beside each other one may have its first turn late: forty steps tell that it has none."""
from trace_writer import Trace


def train(folder, late=5, steps=24):
    """late: the step at which the second head has its first turn."""
    t = Trace(folder)
    model = t.net("body", "heads.a.weight", "heads.b.weight")
    optimizer = t.optimizer(model)
    body, a, b = model.parameters
    for i in range(steps):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, reaches=[body, b if i == late else a])
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, late=20)


def broken(folder):
    train(folder, late=50, steps=44)
