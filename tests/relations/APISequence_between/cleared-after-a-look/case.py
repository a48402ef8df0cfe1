# SPDX-License-Identifier: Apache-2.0
"""To clear a gradient between its clipping and the step leaves nothing for that, though other steps have theirs."""
from trace_writer import Trace


def train(folder, cleared=()):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.clip()
        if i in cleared:
            t.zero_grad(optimizer, at="train.py:30")
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, (2, 4))
