# SPDX-License-Identifier: Apache-2.0
"""What changes between two calls is no deed of either."""
from trace_writer import Trace


def train(folder, by_hand):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.forward(model)
        if by_hand:
            t.change(model.var("w"))
        t.step(optimizer, changes=model.parameters)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, by_hand=False)


def fine(folder):
    train(folder, by_hand=True)
