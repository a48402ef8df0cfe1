# SPDX-License-Identifier: Apache-2.0
"""Whether zero_grad is called, and at which end of the step, is not for windows to say."""
from trace_writer import Trace


def train(folder, with_zero_grad):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        if with_zero_grad:
            t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, with_zero_grad=True)


def fine_never_called(folder):
    train(folder, with_zero_grad=False)
