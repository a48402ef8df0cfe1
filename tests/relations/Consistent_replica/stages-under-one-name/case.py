# SPDX-License-Identifier: Apache-2.0
"""Each of two ranks holds a stage of a pipeline, built by hand under the name of the other one's: of the same names some have another shape from
the start, some the same by chance, and others are on one rank alone. Where a shape becomes another later, the ranks had replicas."""
from trace_writer import Trace

EVEN = {"0.weight": {}, "0.bias": {"shape": [4]}}
STAGES = ({"0.weight": {"shape": [4, 8]}, "0.bias": {"shape": [4]}, "1.weight": {"shape": [4]}, "1.mean": {"kind": "buffer", "shape": [4]}},
          {"0.weight": {"shape": [8, 4]}, "0.bias": {"shape": [4], "content": 7}, "1.mean": {"kind": "buffer", "shape": [8]}})


def rank(folder, number, spec, shape_in=None):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.model("stage", spec)
    optimizer = t.optimizer(model)
    for i in range(5):
        if i == shape_in and number == 1:
            t.set(model.var("0.weight"), shape=[4, 8])
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    for number in range(2):
        rank(folder, number, {**EVEN, "1.mean": {"kind": "buffer"}})


def fine(folder):
    for number in range(2):
        rank(folder, number, STAGES[number])


def broken_later(folder):
    for number in range(2):
        rank(folder, number, EVEN, shape_in=3)
