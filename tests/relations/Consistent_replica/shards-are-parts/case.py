# SPDX-License-Identifier: Apache-2.0
"""Ranks hold parts of a sharded variable: their contents are compared with none, their dtypes are."""
from trace_writer import Trace


def rank(folder, number, sharded=True, dtype="float32"):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    part = {"content": 77 + number * sharded, "attrs": {"dtype": dtype, "placements": ["S(0)"] if sharded else ["R"]}}
    if sharded:
        part["attrs"]["sharded"] = True
    t.stage = "training"
    model = t.model("model", {"w": part})
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    rank(folder, 0, sharded=False)
    rank(folder, 1, sharded=False)


def fine(folder):
    rank(folder, 0)
    rank(folder, 1)


def broken(folder):
    rank(folder, 0)
    rank(folder, 1, dtype="bfloat16")
