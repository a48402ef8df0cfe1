# SPDX-License-Identifier: Apache-2.0
"""A slice takes so many rows at most: of a shorter tensor it is the whole, and the result the operand itself. What makes no slice and hands out its operand in
the broken run changed nothing."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, sizes, copies=True):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i, size in enumerate(sizes):
        rows = t.tensor(size)
        cut = {"object": "slice", "attrs": {"stop": 32 - i}}
        t.op("torch.Tensor.__getitem__", role="operator", at="train.py:8", self=rows, args={"index": cut}, value=t.tensor(32 - i) if size > 32 - i else rows)
        x = t.tensor(8, 4)
        t.op("torch.Tensor.roll", role="operator", at="train.py:9", self=x, args={"shifts": 1}, value=t.tensor(8, 4) if copies else x)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, [40, 50, 64, 70, 48, 41])


def healthy_too(folder):
    train(folder, [42, 52, 36, 80, 33, 90])


def fine(folder):
    train(folder, [20, 24, 30, 31, 18, 12])


def broken(folder):
    train(folder, [40, 50, 64, 70, 48, 41], copies=False)
