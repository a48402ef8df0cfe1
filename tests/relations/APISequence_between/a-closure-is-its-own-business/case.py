# SPDX-License-Identifier: Apache-2.0
"""A step that asks its closure again wants fresh gradients each time; where only closures clear nothing is learned."""
from trace_writer import Trace


def train(folder):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model, cls="torch.optim.LBFGS")

    def closure():
        for _ in range(3):
            t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)

    for _ in range(5):
        t.step(optimizer, closure=closure)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)
