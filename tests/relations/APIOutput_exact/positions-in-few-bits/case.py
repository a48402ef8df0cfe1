# SPDX-License-Identifier: Apache-2.0
"""Four scripts convert whole numbers to types that hold them. In the broken run positions beyond 256 become bfloat16. What few bits happen to hold,
fractions, and numbers that another tensor makes, say nothing."""
from trace_writer import Trace

OPERATORS = "torch.Tensor."
PIPELINES = 4


def whole(t, low, high, distinct):
    return t.tensor(64, dtype="int64") | {"summary": {"min": low, "max": high, "distinct": distinct, "negative": 0, "zero": 1, "one": 1}}


def convert(t, numbers, dtype, at="train.py:8"):
    t.op(OPERATORS + "to", role="operator", at=at, self=numbers, args={"dtype": dtype}, value=t.tensor(64, dtype=dtype))


def train(folder, last=255, distinct=64, dtype="bfloat16"):
    t = Trace(folder, operators=True, content="batches")
    for _ in range(4):
        convert(t, whole(t, -3, last, distinct), dtype)
        convert(t, whole(t, 0, 70000, 64), "float32", at="train.py:9")
        convert(t, t.tensor(64), dtype, at="train.py:10")
        t.op(OPERATORS + "mul", role="operator", at="train.py:11", self=whole(t, 0, 999, 64), args={"other": t.tensor(64, dtype=dtype)},
             value=t.tensor(64, dtype=dtype))
    t.end()


def healthy(folder, i):
    train(folder)


def fine_of_even_ones(folder):
    train(folder, last=510, distinct=200)


def fine_of_more_bits(folder):
    train(folder, last=2047, dtype="float16")


def broken(folder):
    train(folder, last=510, distinct=400)
