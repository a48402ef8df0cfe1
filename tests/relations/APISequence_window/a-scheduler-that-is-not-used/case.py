# SPDX-License-Identifier: Apache-2.0
"""A script without a scheduler cannot forget it; one that has made a scheduler can."""
from trace_writer import Trace


def train(folder, has=True, steps=True):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    if has:
        t.schedule(by="torch")
    for _ in range(5):
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if steps:
            t.schedule()
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine_without_one(folder):
    train(folder, has=False, steps=False)


def broken(folder):
    train(folder, steps=False)
