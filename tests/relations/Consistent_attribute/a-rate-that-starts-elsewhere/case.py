# SPDX-License-Identifier: Apache-2.0
"""A schedule leaves the rate as it is when it is made; the broken run's begins with a factor. What it does later differs from run to
run, and is no fact."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, start=None, later=0.5):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    group = t.settings(lr=0.1)
    if start:
        t.schedule(at="train.py:9", group=group, lr=start)
    for i in range(3):
        t.train_step(model, optimizer)
        t.schedule(group=group, lr=later ** (i + 1))
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder, later=0.25)


def fine(folder):
    train(folder, later=0.75)


def broken(folder):
    train(folder, start=0.01)
