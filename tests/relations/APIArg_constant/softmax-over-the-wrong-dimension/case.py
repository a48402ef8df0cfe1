# SPDX-License-Identifier: Apache-2.0
"""The dimension counts from the end: 1 of a matrix is 2 of a cube, and 0 of a matrix is another."""
from trace_writer import Trace

SOFTMAX = "torch.nn.functional.softmax"


def train(folder, *shape, dim):
    t = Trace(folder)
    for _ in range(4):
        t.op(SOFTMAX, at="train.py:30", args={"input": t.tensor(*shape), "dim": dim}, value=t.tensor(*shape))
    t.end()


def healthy(folder):
    train(folder, 8, 10, dim=1)


def fine_cube(folder):
    train(folder, 2, 8, 10, dim=2)


def fine_negative(folder):
    train(folder, 8, 10, dim=-1)


def broken(folder):
    train(folder, 8, 10, dim=0)
