# SPDX-License-Identifier: Apache-2.0
"""A scaler steps its optimizer, but not in the warm-up that runs no backward."""
from trace_writer import Trace


def train(folder, skips_always=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(7):
        t.zero_grad(optimizer)
        t.forward(model)
        if i >= 2:
            t.backward(model)
        t.scaler_step(optimizer, skips=skips_always or i < 2)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, skips_always=True)
