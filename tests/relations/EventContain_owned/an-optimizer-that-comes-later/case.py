# SPDX-License-Identifier: Apache-2.0
"""Two optimizers in turn: the second shows in the third window what it owns. Frozen parameters need no owner."""
from trace_writer import Trace


def train(folder, second_from=2):
    t = Trace(folder)
    model = t.net("w", "v", "base", frozen=["base"])
    first, second = (t.optimizer(model, params=[model.var(name)]) for name in "wv")
    for i in range(6):
        t.zero_grad(first)
        t.forward(model)
        t.backward(model)
        t.step(first)
        if i >= second_from:
            t.step(second)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, second_from=1)
