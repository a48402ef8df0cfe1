# SPDX-License-Identifier: Apache-2.0
"""Gradients are clipped once they are unscaled; where nothing is scaled there is nothing to say."""
from trace_writer import Trace


def train(folder, order):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.forward(model)
        t.backward(model)
        for act in order:
            act(t)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, [Trace.unscale, Trace.clip])


def fine_without_a_scaler(folder):
    train(folder, [Trace.clip])


def broken(folder):
    train(folder, [Trace.clip, Trace.unscale])
