# SPDX-License-Identifier: Apache-2.0
"""Two ranks with the same weights are given batches of their own. In the broken run they are given the same: no sampler parts the data. Where
each has a part of the model they are rightly given the same, and in two steps in a row it may be chance."""
from trace_writer import Trace

PIPELINES = 4


def rank(folder, number, batches, own_part=False):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.model("model", {"w": {"content": 77}, "half": {"content": 7 + number * own_part}})
    optimizer = t.optimizer(model)
    for batch in batches:
        t.zero_grad(optimizer)
        t.forward(model, args={"x": t.tensor(8, 4) | {"digest": f"{batch:016x}"}})
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder, i):
    for number in range(2):
        rank(folder, number, [10 * step + number for step in range(6)])


def fine_parts(folder):
    for number in range(2):
        rank(folder, number, range(6), own_part=True)


def fine_twice(folder):
    for number in range(2):
        rank(folder, number, [1, 2, 3 + number, 5, 6, 7 + number])


def broken(folder):
    for number in range(2):
        rank(folder, number, range(6))
