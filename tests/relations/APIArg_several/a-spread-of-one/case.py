# SPDX-License-Identifier: Apache-2.0
"""Rewards of a group are divided by their spread. In the broken runs it is that of one reward, or along a dimension of one. Right are a spread of several, a
last batch of one row, and two such calls."""
from trace_writer import Trace

RULE = True


def train(folder, given=(8,), result=(), steps=4, last=None):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        shape = last if last is not None and step else given
        t.op("torch.Tensor.std", role="operator", at="train.py:30", self=t.tensor(*shape), args={"unbiased": False} | ({"dim": 1} if result else {}), value=t.tensor(*result))
        t.train_step(model, optimizer)
    t.end()


def fine(folder):
    train(folder)


def fine_along_a_dimension(folder):
    train(folder, given=(4, 8), result=(4, 1))


def fine_last_row(folder):
    train(folder, last=(1,), steps=6)


def fine_twice(folder):
    train(folder, given=(1,), steps=2)


def broken(folder):
    train(folder, given=(1,))


def broken_along_a_dimension(folder):
    train(folder, given=(4, 1), result=(4, 1))
