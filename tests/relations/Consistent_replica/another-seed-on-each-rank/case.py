# SPDX-License-Identifier: Apache-2.0
"""Shapes are the same on both ranks, and all content is another from the start: nobody broadcast it. Those are replicas, and no stages."""
from trace_writer import Trace


def rank(folder, number, seed):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.model("model", {"0.weight": {"content": 7 + seed}, "0.bias": {"shape": [4], "content": 77 + seed}})
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    for number in range(2):
        rank(folder, number, 0)


def broken(folder):
    for number in range(2):
        rank(folder, number, number)
