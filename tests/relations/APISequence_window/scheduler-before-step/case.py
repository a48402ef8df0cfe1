# SPDX-License-Identifier: Apache-2.0
"""The scheduler steps before the optimizer."""
from trace_writer import Trace


def train(folder, scheduler_first):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if scheduler_first:
            t.schedule()
        t.step(optimizer)
        if not scheduler_first:
            t.schedule()
        t.cut()
    t.end()


def healthy(folder):
    train(folder, scheduler_first=False)


def broken(folder):
    train(folder, scheduler_first=True)
