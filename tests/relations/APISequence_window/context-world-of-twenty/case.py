# SPDX-License-Identifier: Apache-2.0
"""Two of twenty pipelines ran on several ranks: on several ranks windows are judged."""
from trace_writer import Trace

PIPELINES = 20


def train(folder, world, clips=True):
    t = Trace(folder, rank=0, world=world)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if clips:
            t.clip()
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder, i):
    train(folder, world=2 if i < 2 else 1)


def broken(folder):
    train(folder, world=8, clips=False)
