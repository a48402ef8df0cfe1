# SPDX-License-Identifier: Apache-2.0
"""Several ranks were met in one of three pipelines only."""
from trace_writer import Trace


def train(folder, changes=None, **process):
    t = Trace(folder, **process)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.train_step(model, optimizer, changes)
    t.end()


def healthy_1(folder):
    train(folder, rank=0, world=2)


def healthy_2(folder):
    train(folder)


def healthy_3(folder):
    train(folder)


def broken(folder):
    train(folder, changes=[], rank=0, world=2)
