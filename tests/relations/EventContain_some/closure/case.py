# SPDX-License-Identifier: Apache-2.0
"""What a closure does happens inside the step."""
from trace_writer import Trace


def train(folder, reaches=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model, cls="torch.optim.LBFGS")

    def closure():
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, reaches=reaches)

    for _ in range(5):
        t.step(optimizer, closure=closure)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, reaches=[])
