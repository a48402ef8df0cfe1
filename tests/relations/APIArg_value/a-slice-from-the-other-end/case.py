# SPDX-License-Identifier: Apache-2.0
"""Padding of four sizes is cut off at the end, windows begin anywhere, and of every second element: the broken run cuts padding off at the
front. That the numbers are others breaks nothing where there are several."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def cut(**bounds):
    return {"object": "slice", "attrs": bounds}


def train(folder, seed, pads=(2, 4, 8, 16), is_front=False, steps=6):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(steps):
        first = (seed + 7 * i) % 11
        t.op("torch.Tensor.__getitem__", role="operator", at="train.py:20", args={"index": cut(start=first, stop=first + 8)})
        for pad in pads:
            t.op("torch.Tensor.narrow_copy", role="operator", at="train.py:21",
                 args={"index": [cut(), cut(start=pad) if is_front else cut(stop=-pad), cut(step=2)]})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 0)


def healthy_too(folder):
    train(folder, 3)


def fine(folder):
    train(folder, 5, pads=(3, 5, 9, 17), steps=7)


def broken(folder):
    train(folder, 0, is_front=True)
