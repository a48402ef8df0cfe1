# SPDX-License-Identifier: Apache-2.0
"""A gradient scaler leaves out the step while a gradient is not finite; the gradients are cleared all the same."""
from trace_writer import Trace


def train(folder, overflows=0, skips=0):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, grad="nan_or_inf" if i < overflows else "non_zero")
        t.scaler_step(optimizer, skips=i < overflows or i >= 6 - skips)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, overflows=3)


def broken(folder):
    train(folder, skips=2)
