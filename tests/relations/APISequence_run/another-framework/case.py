# SPDX-License-Identifier: Apache-2.0
"""A framework is known by the calls of its loop: what prepares the loop is missed, whatever the framework is called."""
from trace_writer import Trace


def train(folder, shares=True):
    t = Trace(folder)
    if shares:
        t.call("other.ranks.broadcast", role="collective", at="train.py:3")
    for _ in range(2):
        t.call("other.Loss.backward", role="backward", at="train.py:12")
        t.call("other.Optimizer.step", role="step", at="train.py:13")
        t.stepped = True
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, shares=False)
