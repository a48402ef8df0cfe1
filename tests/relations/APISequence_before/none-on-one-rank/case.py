# SPDX-License-Identifier: Apache-2.0
"""On one rank the calls of a step have an order, on the other now this and now that: the run has none."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, *orders):
    for rank, steps in enumerate(orders):
        t = Trace(folder, rank=rank, world=2, pid=rank + 1)
        model = t.net("w")
        optimizer = t.optimizer(model)
        for names in steps:
            for name in names.split():
                t.op(f"torch.{name}", value=t.tensor(4), at="train.py:20", args={"input": t.tensor(4)})
            t.train_step(model, optimizer)
            t.cut()
        t.end()


def healthy(folder):
    train(folder, ["exp log"] * 8, ["exp log"] + ["log exp", "exp log"] * 4)


def fine(folder):
    train(folder, ["exp log"] * 8, ["exp log"] + ["exp log", "log exp", "log exp"] * 3)
