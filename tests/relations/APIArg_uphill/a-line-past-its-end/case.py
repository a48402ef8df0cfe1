# SPDX-License-Identifier: Apache-2.0
"""A rate falls along a line. In the broken run training is longer than the line. That it ends at zero, below it once, or by what a cosine is rounded
by, is right."""
from trace_writer import Trace

RULE = True


def train(folder, rates):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for optimizer["lr"] in rates:
        t.train_step(model, optimizer)
    t.end()


def fine(folder):
    train(folder, [0.03, 0.02, 0.01, 0.0])


def fine_once_or_twice(folder):
    train(folder, [0.02, 0.01, 0.0, -0.01, -0.02])


def fine_of_rounding(folder):
    train(folder, [0.02, 0.01, -1e-19, -1e-19, -1e-19])


def broken(folder):
    train(folder, [0.02, 0.01, 0.0, -0.01, -0.02, -0.03, -0.04])
