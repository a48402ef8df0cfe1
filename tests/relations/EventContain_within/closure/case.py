# SPDX-License-Identifier: Apache-2.0
"""A step with a closure writes to the weights between two looks; that a call inside it looks first is no matter."""
from trace_writer import Trace


def train(folder, by_hand=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)

    def closure():
        for _ in range(3):
            t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)
            t.change(model.var("w"), inside=False)

    for _ in range(4):
        t.step(optimizer, changes=[], closure=closure)
        if by_hand:
            t.change(model.var("w"))
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, by_hand=True)
