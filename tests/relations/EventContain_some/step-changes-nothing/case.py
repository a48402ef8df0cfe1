# SPDX-License-Identifier: Apache-2.0
"""A step that changes nothing is reported at once. So is none before any model has run: a script asks which rates its schedule will have."""
from trace_writer import Trace


def train(folder, changes=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.train_step(model, optimizer, changes)
    t.end()


def healthy(folder):
    train(folder)


def fine_before_any_forward(folder):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.step(optimizer)
    t.train_step(model, optimizer)
    t.end()


def broken(folder):
    train(folder, changes=[])
