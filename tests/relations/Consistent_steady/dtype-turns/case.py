# SPDX-License-Identifier: Apache-2.0
"""Both parameters are turned to bfloat16 before step 2: two variables, one step."""
from trace_writer import Trace


def train(folder, turns_in=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(5):
        t.zero_grad(optimizer)
        if i == turns_in:
            for v in model.parameters:
                t.set(v, dtype="bfloat16")
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, turns_in=2)
