# SPDX-License-Identifier: Apache-2.0
"""What a step with a closure contains stands before the step, however often it runs."""
from trace_writer import Trace


def train(folder, clips=True):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model, cls="torch.optim.LBFGS")

    def closure():
        for _ in range(3):
            t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)
            if clips:
                t.clip()

    for _ in range(5):
        t.step(optimizer, closure=closure)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, clips=False)
