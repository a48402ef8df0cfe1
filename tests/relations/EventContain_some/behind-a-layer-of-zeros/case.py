# SPDX-License-Identifier: Apache-2.0
"""A last layer starts at zero and has an optimizer of its own: in the first step the gradients behind it are zero, and the other optimizer
changes nothing. Where that goes on for three steps nothing arrives there."""
from trace_writer import Trace


def train(folder, flat=0):
    t = Trace(folder)
    body, head = t.net("body.w", "body.b"), t.net("head.w")
    optimizers = t.optimizer(body), t.optimizer(head)
    for i in range(5):
        for optimizer in optimizers:
            t.zero_grad(optimizer)
        t.forward(body)
        t.backward(head, at="train.py:15")
        t.backward(body, at="train.py:16", grad="zero" if i < flat else "non_zero")
        t.step(optimizers[0], at="train.py:20", changes=[] if i < flat else body.parameters)
        t.step(optimizers[1], at="train.py:21")
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, flat=2)


def broken(folder):
    train(folder, flat=5)
