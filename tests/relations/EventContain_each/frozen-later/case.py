# SPDX-License-Identifier: Apache-2.0
"""A parameter that stays the same from step 3 on: steps 3, 4 and 5 are the three in a row."""
from trace_writer import Trace


def train(folder, frozen_from):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(8):
        t.train_step(model, optimizer, changes=[model.var("w")] if i >= frozen_from else None)
    t.end()


def healthy(folder):
    train(folder, frozen_from=8)


def broken(folder):
    train(folder, frozen_from=3)
