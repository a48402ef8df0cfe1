# SPDX-License-Identifier: Apache-2.0
"""Each of two ranks has a part of `half` of its own from the start, as tensor parallelism by hand has, and nothing on it says so. The rest is
the same on both, until one of the ranks drifts. Where nothing is the same on both, nobody has seen to it."""
from trace_writer import Trace


def rank(folder, number, parts=True, drifts_from=None, alone=False):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    spec = {"half": {"content": 7 + number * parts}}
    model = t.model("model", spec if alone else {**spec, "w": {"content": 77}})
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if drifts_from is not None and i >= drifts_from and number == 1:
            t.change(model.var("w"), inside=False)
        t.cut()
    t.end()


def healthy(folder):
    for number in range(2):
        rank(folder, number, parts=False)


def fine(folder):
    for number in range(2):
        rank(folder, number)


def broken(folder):
    for number in range(2):
        rank(folder, number, drifts_from=2)
