# SPDX-License-Identifier: Apache-2.0
"""A batch is padded to the size that was asked for; one that stays below it is reported."""
from trace_writer import Trace

PAD = "train.pad"


def train(folder, *sizes, at_least=8):
    t = Trace(folder)
    for n in sizes:
        t.op(PAD, role="method", at="train.py:81", args={"total_length": at_least}, value=t.tensor(n, 4))
    t.end()


def healthy(folder):
    train(folder, 8, 8, 11)


def fine(folder):
    train(folder, 12, 8)


def broken(folder):
    train(folder, 8, 7, 6)
