# SPDX-License-Identifier: Apache-2.0
"""A step that raised changed nothing, and neither teaches nor breaks anything."""
from trace_writer import Trace


def train(folder, raising=()):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if i in raising:
            t.step(optimizer, changes=[], raises="RuntimeError")
        else:
            t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, raising=[2])


def fine(folder):
    train(folder, raising=range(6))
