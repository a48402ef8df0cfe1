# SPDX-License-Identifier: Apache-2.0
"""One backward makes no gradient at all, where those before did: that is no flat batch, and reported at once."""
from trace_writer import Trace


def train(folder, detached=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, reaches=[] if i == detached else None)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, detached=3)
