# SPDX-License-Identifier: Apache-2.0
"""zero_grad forgets one of two parameters."""
from trace_writer import Trace


def train(folder, clears):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.zero_grad(optimizer, clears=[model.var(name) for name in clears])
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, "wb")


def broken(folder):
    train(folder, "w")
