# SPDX-License-Identifier: Apache-2.0
"""The model clears its gradients itself, those of a parameter that no optimizer was given as well: clearing is not owning."""
from trace_writer import Trace


def train(folder, forgets_head=False):
    t = Trace(folder)
    model = t.net("body", "head")
    optimizer = t.optimizer(model, params=[model.var("body")] if forgets_head else None)
    for _ in range(6):
        t.zero_grad_of_module(model)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut("zero_grad")
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, forgets_head=True)
