# SPDX-License-Identifier: Apache-2.0
"""Where content cannot be read (meta tensors) nobody knows whether it changed."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.train_step(model, optimizer)
    t.end()


def fine(folder):
    t = Trace(folder)
    model = t.net("w", "b", data=None)
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.train_step(model, optimizer, changes=[])
    t.end()
