# SPDX-License-Identifier: Apache-2.0
"""Digests of two algorithms are never compared; dtypes of such ranks are."""
from trace_writer import Trace


def rank(folder, number, content=77, digest="nh64", dtype="float32"):
    t = Trace(folder, rank=number, world=2, pid=number + 1, digest=digest)
    t.stage = "training"
    model = t.model("model", {"w": {"content": content, "attrs": {"dtype": dtype}}})
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def fine(folder):
    rank(folder, 0)
    rank(folder, 1, content=78, digest="another")


def broken(folder):
    rank(folder, 0)
    rank(folder, 1, content=78, digest="another", dtype="bfloat16")
