# SPDX-License-Identifier: Apache-2.0
"""To which variables the n-th backward of a step gives gradients, and which the step changes."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, detached=False):
    t = Trace(folder)
    model = t.net("a", "b", "c")
    a, b, c = model.parameters
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.zero_grad(optimizer)
        t.backward(model, reaches=[a])
        t.backward(model, reaches=[c] if detached else [b, c])
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, detached=True)
