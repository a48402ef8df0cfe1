# SPDX-License-Identifier: Apache-2.0
"""Two groups of two ranks: each rank holds one half of w, ranks 0 and 2 the same. From the third step on rank 3 drifts.
A model that was built anew leaves the old one behind, under the same name: which of the two is meant is not known."""
from trace_writer import Trace


def rank(folder, number, sharded=True, drifts_from=None, anew=False):
    t = Trace(folder, rank=number, world=4, pid=number + 1)
    half = number % 2
    attrs = {"placements": ["R", "S(0)"], "mesh": [2, 2], "sharded": True, "part": [half]} if sharded else {}
    if anew:
        t.model("model", {"w": {"content": 7, "attrs": attrs}})
    model = t.model("model", {"w": {"content": 77 + half * sharded, "attrs": attrs}})
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if i == drifts_from and number == 3:
            t.change(model.var("w"))
        t.cut()
    t.end()


def healthy(folder):
    for number in range(4):
        rank(folder, number, sharded=False)


def fine(folder):
    for number in range(4):
        rank(folder, number)


def fine_built_anew(folder):
    for number in range(4):
        rank(folder, number, anew=True)


def broken(folder):
    for number in range(4):
        rank(folder, number, drifts_from=2)
