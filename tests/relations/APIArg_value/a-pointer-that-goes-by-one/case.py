# SPDX-License-Identifier: Apache-2.0
"""A pointer goes round by four, in the broken run by one: the numbers of a run are others. A number that is drawn is another one in each
run, and a run of another length has other numbers."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]
PUT, SCALE = "torch.Tensor.__setitem__", "torch.Tensor.mul"


def train(folder, by=4, drawn=7, steps=16):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    queue = t.tensor(32)
    for step in range(steps):
        start = step * by % 32
        t.op(PUT, role="operator", at="train.py:20", self=queue,
             args={"index": {"object": "slice", "attrs": {"start": start, "stop": start + 4}}, "value": t.tensor(4)})
        t.op(SCALE, role="operator", at="train.py:21", value=t.tensor(4), self=queue,
             args={"other": (step + 1) * drawn % 101 / 100})
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder, drawn=13)


def fine(folder):
    train(folder, drawn=5)


def fine_longer(folder):
    train(folder, by=3, steps=20)


def broken(folder):
    train(folder, by=1)
