# SPDX-License-Identifier: Apache-2.0
"""Rank 1 was lost: a step that it never finished is not judged. A sampled digest never compares with a full one."""
from trace_writer import Trace


def rank(folder, number, steps=5, content=0, sampled=False):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    t.stage = "training"
    model = t.model("model", {"w": {"content": 50 + content}})
    optimizer = t.optimizer(model)
    if sampled:
        t.set(model.var("w"), data="~00000000000000bb")
    for _ in range(steps):
        t.train_step(model, optimizer, changes=[])
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def fine_lost(folder):
    rank(folder, 0, content=1)
    rank(folder, 1, steps=0)


def fine_sampled(folder):
    rank(folder, 0)
    rank(folder, 1, sampled=True)
