# SPDX-License-Identifier: Apache-2.0
"""Averaged weights are swapped in for an evaluation; in the broken run they are never swapped back."""
from trace_writer import Trace


def train(folder, restores):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for epoch in range(3):
        for _ in range(4):
            t.train_step(model, optimizer)
        w = model.var("w")
        kept, w.version = w.version, 1000 + epoch
        t.set(w, inside=False, data=w.digest)
        t.evaluate(model)
        if restores:
            w.version = kept
            t.set(w, inside=False, data=w.digest)
    t.end()


def healthy(folder):
    train(folder, restores=True)


def broken(folder):
    train(folder, restores=False)
