# SPDX-License-Identifier: Apache-2.0
"""Statistics move with each forward of training, and stand in evaluation mode. In the broken run an observer goes on.
Ranks may exchange statistics in any forward."""
from trace_writer import Trace


def train(folder, moves=(), **process):
    t = Trace(folder, **process)
    model = t.net("w", buffers=("mean",))
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.zero_grad(optimizer)
        t.forward(model, changes=("mean",))
        t.backward(model)
        t.step(optimizer)
        t.evaluate(model, changes=moves)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine_exchanged(folder):
    train(folder, ("mean",), rank=0, world=2)


def broken(folder):
    train(folder, ("mean",))
