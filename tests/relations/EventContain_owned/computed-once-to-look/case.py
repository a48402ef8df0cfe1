# SPDX-License-Identifier: Apache-2.0
"""A replica computes gradients in the first step, to compare, and keeps them. One that is asked in every second step should train."""
from trace_writer import Trace


def train(folder, asked=()):
    t = Trace(folder)
    model = t.net("w", "b")
    replica = t.model("replica", {"w": {}, "b": {}})
    optimizer = t.optimizer(model)
    for i in range(8):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if i in asked:
            t.forward(replica)
            t.backward(replica)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine_once(folder):
    train(folder, asked=[0])


def fine_twice(folder):
    train(folder, asked=[0, 4])


def broken(folder):
    train(folder, asked=range(0, 8, 2))
