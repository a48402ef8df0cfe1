# SPDX-License-Identifier: Apache-2.0
"""The scheduler steps in every third window: only these say something about it."""
from trace_writer import Trace


def train(folder, scheduler_first=False, without_scheduler=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(9):
        is_due = i % 3 == 2 and not without_scheduler
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if is_due and scheduler_first:
            t.schedule()
        t.step(optimizer)
        if is_due and not scheduler_first:
            t.schedule()
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, without_scheduler=True)


def broken(folder):
    train(folder, scheduler_first=True)
