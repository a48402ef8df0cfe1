# SPDX-License-Identifier: Apache-2.0
"""A size that stays within what was asked for; one that exceeds it is reported."""
from trace_writer import Trace

GENERATE = "transformers.GenerationMixin.generate"


def train(folder, *lengths):
    t = Trace(folder)
    for n in lengths:
        t.op(GENERATE, role="library", at="train.py:80", args={"max_length": 12}, value=t.tensor(20, n, dtype="int64"))
    t.end()


def healthy(folder):
    train(folder, 10, 12, 11)


def fine(folder):
    train(folder, 1, 12)


def broken(folder):
    train(folder, 12, 13, 12, 40)
