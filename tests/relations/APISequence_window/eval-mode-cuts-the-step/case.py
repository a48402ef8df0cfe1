# SPDX-License-Identifier: Apache-2.0
"""A forward in evaluation mode counts as evaluation, so that the step is cut behind it: it is there, and is the wrong one."""
from trace_writer import Trace


def train(folder, training):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        if training:
            t.forward(model)
        else:
            t.stage = "evaluation"
            t.forward(model, training=False)
            t.cut("stage")
            t.stage = "training"
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, training=True)


def broken(folder):
    train(folder, training=False)
