# SPDX-License-Identifier: Apache-2.0
"""zero_grad is never called: from the second step on each gradient is added to an old one."""
from trace_writer import Trace


def train(folder, with_zero_grad, clears=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(6):
        if with_zero_grad:
            t.zero_grad(optimizer, clears=clears and clears(model))
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, with_zero_grad=True)


def broken(folder):
    train(folder, with_zero_grad=False)
