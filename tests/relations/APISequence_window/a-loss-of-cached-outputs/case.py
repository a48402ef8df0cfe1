# SPDX-License-Identifier: Apache-2.0
"""Gradient caching: the loss ends at outputs that were computed without gradients; its backward comes before the forward with gradients, whose own
backward follows. A backward that no other follows is disorder."""
from trace_writer import Trace


def train(folder, is_cached=False, follows=True):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        if is_cached:
            t.backward(model, reaches=[])
        t.forward(model)
        if follows:
            t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, is_cached=True)


def broken(folder):
    train(folder, is_cached=True, follows=False)
