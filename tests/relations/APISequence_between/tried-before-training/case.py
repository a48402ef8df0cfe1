# SPDX-License-Identifier: Apache-2.0
"""A script tries a backward before it trains, and clears what that made; so for another model later on. Who loses the first of two losses in
each step does so in the first one, too, and is reported from the second on."""
from trace_writer import Trace


def steps(t, model, n, tries=0, loses=False):
    optimizer = t.optimizer(model)
    for _ in range(tries):
        t.forward(model)
        t.backward(model, at="train.py:5")
        t.zero_grad(optimizer)
    for _ in range(n):
        for line in (21, 12) if loses else (12,):
            t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model, at=f"train.py:{line}")
        t.step(optimizer)
        t.cut()


def train(folder, **how):
    t = Trace(folder)
    steps(t, t.net("w", "b"), 4, **how)
    steps(t, t.model("other", {"w": {}, "b": {}}), 4, **how)
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, tries=1)


def broken(folder):
    train(folder, loses=True)
