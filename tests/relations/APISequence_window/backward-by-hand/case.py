# SPDX-License-Identifier: Apache-2.0
"""A script that never calls backward() asks for its gradients otherwise; one that does may forget it."""
from trace_writer import Trace


def train(folder, calls_backward=lambda i: True):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(5):
        t.forward(model)
        if calls_backward(i):
            t.backward(model)
        else:
            t.set(model.var("w"), grad="non_zero")
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, calls_backward=lambda i: False)


def broken(folder):
    train(folder, calls_backward=lambda i: i < 3)
