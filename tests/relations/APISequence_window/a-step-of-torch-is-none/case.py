# SPDX-License-Identifier: Apache-2.0
"""Before a state is loaded torch lets an optimizer step once, so that it has one: that is no step of the loop."""
from trace_writer import Trace


def train(folder, prepares):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        if i == 3:
            t.step(optimizer, changes=[], by=prepares)
            t.cut()
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, prepares="torch")


def broken(folder):
    """The same call by the script is a step without a backward."""
    train(folder, prepares="user")
