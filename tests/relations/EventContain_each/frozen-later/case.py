# SPDX-License-Identifier: Apache-2.0
"""A parameter that stays the same from step 3 on: the tenth step in a row tells it, as its earlier steps have changed it. Nine may be
the end of a schedule, or an optimizer that rounds to few values."""
from trace_writer import Trace


def train(folder, frozen_from):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(14):
        t.train_step(model, optimizer, changes=[model.var("w")] if i >= frozen_from else None)
    t.end()


def healthy(folder):
    train(folder, frozen_from=14)


def fine_nine_times(folder):
    train(folder, frozen_from=5)


def broken(folder):
    train(folder, frozen_from=3)
