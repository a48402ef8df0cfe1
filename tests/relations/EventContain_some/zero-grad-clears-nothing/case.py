# SPDX-License-Identifier: Apache-2.0
"""zero_grad leaves the gradients: from the second step on no backward can give a first one."""
from trace_writer import Trace


def train(folder, clears=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer, clears=clears)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, clears=[])
