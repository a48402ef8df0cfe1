# SPDX-License-Identifier: Apache-2.0
"""Gradients that are zero from the first step on were never learned by: that is reported at once."""
from trace_writer import Trace


def train(folder, grad="non_zero"):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, grad=grad)
        t.step(optimizer, changes=model.parameters if grad == "non_zero" else [])
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, "zero")
