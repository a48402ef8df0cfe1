# SPDX-License-Identifier: Apache-2.0
"""An early stop goes back to the best weights. Where these are the last a load changes nothing, and nothing is missing. It is where the
optimizer has stepped since they were taken, and where one line takes state and loads it."""
from trace_writer import Trace

MODULE = "torch.nn.Module."


def train(folder, waits, line=7, changes=True):
    t = Trace(folder)
    model = t.net("w", "v")
    optimizer = t.optimizer(model)
    for i in range(5):
        t.train_step(model, optimizer)
        t.op(MODULE + "state_dict", role="save", at="train.py:5")
        for _ in range(waits(i)):
            t.train_step(model, optimizer)
        t.enter(MODULE + "load_state_dict", role="load", at="train.py:7" if waits(i) else f"train.py:{line}")
        for v in model.parameters if changes else []:
            t.change(v)
        t.leave(value=[[], []])
    t.end()


def healthy(folder):
    train(folder, waits=lambda i: 2)


def fine(folder):
    train(folder, waits=lambda i: 0, changes=False)


def broken(folder):
    train(folder, waits=lambda i: 2 * (i < 3), line=5, changes=False)
