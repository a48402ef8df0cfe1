# SPDX-License-Identifier: Apache-2.0
"""A warm-up begins at zero and a schedule ends there. In the broken run the rate is zero for five steps. A first group whose rate is zero
rests, as long as another one learns. Between two schedules an epoch may pass at zero."""
from trace_writer import Trace


def train(folder, rates, changes=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for rate in rates:
        optimizer["lr"] = rate
        t.train_step(model, optimizer, None if rate or changes else [])
    t.end()


def healthy(folder):
    train(folder, [0, 0.1, 0.2, 0.1, 0.0, 0.0])


def fine_where_another_group_learns(folder):
    train(folder, [0.0] * 5, changes=True)


def fine_between_two_schedules(folder):
    train(folder, [0.1] * 8 + [0.0] * 3 + [0.1] * 4)


def broken(folder):
    train(folder, [0.0] * 5 + [0.1, 0.1])
