# SPDX-License-Identifier: Apache-2.0
"""A script that does not use a library cannot forget to call it."""
from trace_writer import Trace


def train(folder, prepares=True, uses=True):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    if prepares:
        t.call("accelerate.Accelerator.prepare", role="library", at="train.py:3")
    for _ in range(2):
        t.forward(model)
        if uses:
            t.call("accelerate.Accelerator.backward", role="library", at="train.py:12")
        t.step(optimizer, changes=[])
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine_without_the_library(folder):
    train(folder, prepares=False, uses=False)


def broken(folder):
    train(folder, prepares=False)
