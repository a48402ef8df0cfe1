# SPDX-License-Identifier: Apache-2.0
"""A cosine is stepped further than it goes, and rises as it fell. Right are one that ends, one that restarts at once, another task with a warm-up of its own, one
turn more, and a triangle that does not come to zero."""
from trace_writer import Trace

RULE = True

COSINE = [4.0, 3.0, 2.0, 1.0, 0.0]
WAVE = COSINE + COSINE[-2::-1]


def train(folder, rates):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for rate in rates:
        optimizer["lr"] = rate / 1000
        t.train_step(model, optimizer, changes=() if rate == 0 else None)
    t.end()


def fine(folder):
    train(folder, COSINE)


def fine_restarts(folder):
    train(folder, COSINE * 4)


def fine_tasks(folder):
    train(folder, (COSINE + [2.0, 3.5]) * 3)


def fine_one_turn(folder):
    train(folder, WAVE)


def fine_above_zero(folder):
    train(folder, [rate + 1 for rate in (WAVE[:-1]) * 4])


def broken(folder):
    train(folder, WAVE[:-1] * 3)
