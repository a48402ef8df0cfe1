# SPDX-License-Identifier: Apache-2.0
"""A call whose other operands were never met so is in a context never learned."""
from trace_writer import Trace

PIPELINES = 7


def train(folder, bias=False, shift=0):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.scale", at="train.py:30", args={"bias": bias, "shift": shift})
    t.end()


def healthy(folder, i):
    train(folder)


def broken(folder):
    train(folder, bias=True, shift=2)
