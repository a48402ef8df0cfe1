# SPDX-License-Identifier: Apache-2.0
"""What only one of two pipelines does is its own business: clearing gradients here."""
from trace_writer import Trace


def train(folder, with_zero_grad):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        if with_zero_grad:
            t.zero_grad(optimizer)
        t.forward(model)
        t.step(optimizer, changes=model.parameters)
        t.backward(model)
        t.cut()
    t.end()


def healthy_1(folder):
    train(folder, with_zero_grad=True)


def healthy_2(folder):
    train(folder, with_zero_grad=False)
