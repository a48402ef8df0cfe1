# SPDX-License-Identifier: Apache-2.0
"""Micro-batches with windows of their own: only the window that steps must step."""
from trace_writer import Trace


def train(folder, forgets=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(12):
        t.forward(model)
        t.backward(model)
        if i % 4 == 3:
            if not forgets:
                t.clip()
            t.step(optimizer)
            t.zero_grad(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, forgets=True)
