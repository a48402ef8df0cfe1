# SPDX-License-Identifier: Apache-2.0
"""A step that changes nothing is told at once."""
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


def broken(folder):
    train(folder, changes=[])
