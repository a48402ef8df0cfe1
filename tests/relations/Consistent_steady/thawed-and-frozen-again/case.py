# SPDX-License-Identifier: Apache-2.0
"""A weight that was trainable at either end of a step may have changed in it."""
from trace_writer import Trace


def train(folder, thaws=False):
    t = Trace(folder)
    model = t.net("w", "base", frozen=["base"])
    optimizer = t.optimizer(model, params=[model.var("w")])
    for i in range(6):
        t.zero_grad(optimizer)
        if thaws and i in (2, 4):
            t.set(model.var("base"), requires_grad=i == 2)
        t.forward(model, changes=["base"] if thaws and i in (2, 3, 4) else ())
        t.backward(model, reaches=[model.var("w")])
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, thaws=True)
