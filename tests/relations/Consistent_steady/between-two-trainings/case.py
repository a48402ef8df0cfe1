# SPDX-License-Identifier: Apache-2.0
"""Between two trainings a table gets more rows and frozen weights are merged with what was learned: the optimizer of the second has not stepped
before. Where one that has goes on, in the same step or alone, that is reported."""
from trace_writer import Trace


def train(folder, grows=True, stays=False, goes_on=False):
    t = Trace(folder)
    model = t.net("table", "base", frozen=["base"])
    first = t.optimizer(model, params=[model.var("table")])
    second = t.optimizer(model, params=[model.var("table")])
    for i in range(6):
        if grows and i == 3:
            t.set(model.var("table"), inside=False, shape=[8, 4])
            t.change(model.var("base"), inside=False)
        optimizers = [first] * (i < 3 or stays or goes_on) + [second] * (i >= 3 and not stays)
        t.zero_grad(optimizers[0])
        t.forward(model)
        t.backward(model)
        for optimizer in optimizers:
            t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, grows=False)


def fine(folder):
    train(folder)


def broken_with_one(folder):
    train(folder, stays=True)


def broken_beside_another(folder):
    train(folder, goes_on=True)
