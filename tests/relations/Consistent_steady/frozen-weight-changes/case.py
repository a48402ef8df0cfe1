# SPDX-License-Identifier: Apache-2.0
"""A frozen weight is written to once, in step 3; the trained one changes all the time."""
from trace_writer import Trace


def train(folder, written_in=None):
    t = Trace(folder)
    model = t.net("w", "base", frozen=["base"])
    optimizer = t.optimizer(model, params=[model.var("w")])
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model, changes=["base"] if i == written_in else ())
        t.backward(model, reaches=[model.var("w")])
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, written_in=3)
