# SPDX-License-Identifier: Apache-2.0
"""An attribute that no pipeline had is an unknown context, too; one that is false is none."""
from trace_writer import Trace


def train(folder, changes=None, **attrs):
    t = Trace(folder)
    model = t.net("w", "b", **attrs)
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.train_step(model, optimizer, changes)
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, changes=[], is_sharded=True)


def broken(folder):
    train(folder, changes=[], is_sharded=False)
