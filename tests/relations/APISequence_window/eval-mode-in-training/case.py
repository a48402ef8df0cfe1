# SPDX-License-Identifier: Apache-2.0
"""Training goes on in evaluation mode: the forward in training mode is missing."""
from trace_writer import Trace


def train(folder, training):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model, training=training)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, training=True)


def broken(folder):
    train(folder, training=False)
