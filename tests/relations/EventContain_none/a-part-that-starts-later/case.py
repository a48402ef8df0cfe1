# SPDX-License-Identifier: Apache-2.0
"""A part that later batches alone need takes its first weights from the first of them, as the steps of a quantiser do. No optimizer step has changed it
till then. What steps have changed is not to be written to."""
from trace_writer import Trace

PIPELINES = 4


def train(folder, starts=None, writes=None):
    t = Trace(folder)
    model = t.net("w", "later")
    optimizer = t.optimizer(model)
    w = model.parameters[0]
    for i in range(8):
        t.zero_grad(optimizer)
        t.forward(model, ["later"] if i == starts else ["w"] if i == writes else ())
        t.backward(model, reaches=[w] if i < 4 else None)
        t.step(optimizer, changes=[w] if i < 4 else model.parameters)
        t.cut()
    t.end()


def healthy(folder, i):
    train(folder)


def fine(folder):
    train(folder, starts=4)


def broken(folder):
    train(folder, writes=4)
