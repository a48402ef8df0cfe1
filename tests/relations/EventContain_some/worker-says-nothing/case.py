# SPDX-License-Identifier: Apache-2.0
"""What a DataLoader worker does is no training."""
from trace_writer import Trace


def train(folder, changes=None, **process):
    t = Trace(folder, **process)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.train_step(model, optimizer, changes)
    t.end()


def healthy(folder):
    train(folder)
    train(folder, changes=[], pid=2, role="worker")


def fine(folder):
    train(folder, changes=[], role="worker")
