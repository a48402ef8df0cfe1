# SPDX-License-Identifier: Apache-2.0
"""A forward that writes to a weight: nothing but the step may. An average that the model keeps, and that requires no gradient, may follow in it.
The first forward of a model may set weights by the data."""
from trace_writer import Trace


def train(folder, changes=(), frozen=(), first=(), **kwargs):
    t = Trace(folder, **kwargs)
    model = t.net("w", "b", *frozen, frozen=frozen)
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model, changes if i >= 2 else first if not i else ())
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, changes=["w"], is_blind=True)


def fine_average(folder):
    train(folder, changes=["average"], frozen=["average"])


def fine_at_first(folder):
    train(folder, first=["w"])


def broken(folder):
    train(folder, changes=["w"])
