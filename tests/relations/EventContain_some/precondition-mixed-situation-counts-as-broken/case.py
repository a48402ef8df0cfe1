# SPDX-License-Identifier: Apache-2.0
"""Without unscaling a step held three times and broke once: there it is never judged."""
from trace_writer import Trace


def train(folder, unscales, idle):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(9):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if i in unscales:
            t.unscale()
        t.step(optimizer, changes=[] if i in idle else None)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, unscales=range(4, 9), idle=[2])


def broken(folder):
    train(folder, unscales=[5, 7], idle=range(9))
