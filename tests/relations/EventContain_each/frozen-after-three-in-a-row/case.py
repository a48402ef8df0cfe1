# SPDX-License-Identifier: Apache-2.0
"""A parameter that a step leaves as it is: reported at the third step in a row, not before."""
from trace_writer import Trace


def train(folder, changed):
    """changed(i, model): what step i changes; None for all."""
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.train_step(model, optimizer, changes=changed(i, model))
    t.end()


def healthy(folder):
    train(folder, lambda i, model: None)


def fine_twice_in_a_row(folder):
    train(folder, lambda i, model: [model.var("w")] if i % 3 else None)


def broken(folder):
    train(folder, lambda i, model: [model.var("w")])
