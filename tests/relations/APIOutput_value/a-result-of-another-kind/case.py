# SPDX-License-Identifier: Apache-2.0
"""What a call returns: whether it is finite, what it equals, and whether it is an operand itself."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, finite=True, same=None, is_own=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.zero_grad(optimizer)
        x = t.tensor(8)
        t.op("lib.attend", at="train.py:30", args={"0": x}, value=x if is_own else t.tensor(8), finite=finite, same=same)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, finite=False, same=["args.0"], is_own=True)
