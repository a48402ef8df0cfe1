# SPDX-License-Identifier: Apache-2.0
"""The optimizer of a first phase holds a head that this phase does not use, and the optimizer of a second one trains it, as a critic that follows
imitation. A head that no optimizer changes is reported when the run is over."""
from trace_writer import Trace


def train(folder, *uses_head):
    t = Trace(folder)
    model = t.net("body", "policy", "value")
    body, policy, value = model.parameters
    for uses in uses_head:
        optimizer = t.optimizer(model)
        for _ in range(14):
            t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model, reaches=[body, policy, value] if uses else [body, policy])
            t.step(optimizer)
            t.cut()
    t.end()


def healthy(folder):
    train(folder, True, True)


def fine(folder):
    train(folder, False, True)


def broken(folder):
    train(folder, False, False)
