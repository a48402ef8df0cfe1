# SPDX-License-Identifier: Apache-2.0
"""A function of autograd ties a loss of its own to the weights of a gate, and returns them. In the broken run what it returns is thrown away, and the layer goes on
with what it was given. Right are results that are used, results that are read in ways that no call tells, where nothing goes on with what was given, and such a
function in few steps."""
from trace_writer import Trace

RULE = True


def train(folder, uses=True, goes_on=True, steps=6):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        t.forward(model)
        gate, tied = (t.tensor(8, 8) | {"requires_grad": True} for _ in range(2))
        t.op("torch.autograd.Function.apply", at="train.py:9", self="__main__.Tie", args={"0": gate, "1": t.tensor() | {"requires_grad": True}}, value=tied)
        for used in [tied] * uses + [gate] * goes_on:
            t.op("torch.Tensor.mul", role="operator", at="train.py:10", self=used, args={"other": t.tensor(8, 8)}, value=t.tensor(8, 8))
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, goes_on=False)


def fine_both(folder):
    train(folder)


def fine_read_unseen(folder):
    train(folder, uses=False, goes_on=False)


def fine_of_few_steps(folder):
    train(folder, uses=False, steps=3)


def broken(folder):
    train(folder, uses=False)
