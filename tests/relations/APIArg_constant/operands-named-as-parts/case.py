# SPDX-License-Identifier: Apache-2.0
"""An operand may be called dtype, shape or content: it is none of another's."""
from trace_writer import Trace

PIPELINES = 7  # a switch that falls the same way


def train(folder, shape=True):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.save", at="train.py:30", args={"dtype": True, "shape": shape, "content": 0})
    t.end()


def healthy(folder, i):
    train(folder)


def broken(folder):
    train(folder, shape=False)
