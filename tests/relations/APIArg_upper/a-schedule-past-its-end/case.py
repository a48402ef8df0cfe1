# SPDX-License-Identifier: Apache-2.0
"""A schedule of six steps, by its own count. In the broken run it is stepped more often than it is long. That a count is below another by
chance, as one of two lengths that a script chose, is broken by another script."""
from trace_writer import Trace

STEP = "torch.optim.lr_scheduler.LRScheduler.step"
PIPELINES = 4


def train(folder, steps=6, length=6, every=2):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(steps):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.op(STEP, at="train.py:14", self={"object": "Cosine", "id": 5000, "attrs": {"T_max": length, "last_epoch": i, "every": every}})
        t.cut()
    t.end()


def healthy(folder, i):
    train(folder, every=2 + 9 * (i % 2))


def fine(folder):
    train(folder, steps=4)


def broken(folder):
    train(folder, steps=9)
