# SPDX-License-Identifier: Apache-2.0
"""Averaged weights are swapped in by the first forward of an evaluation: only there a forward writes."""
from trace_writer import Trace


def train(folder, changes=()):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.stage = "training"
        t.forward(model, changes)
        t.step(optimizer, changes=model.parameters)
        t.cut()
        t.evaluate(model, changes=["w"])
        t.cut("stage")
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, changes=["w"])
