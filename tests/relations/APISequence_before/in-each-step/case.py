# SPDX-License-Identifier: Apache-2.0
"""What each step calls first, and what then; calls that only some steps make have no place in it. The first step, which makes
things ready, may be another, and so may one or two of many, as a short turn of a loop."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def op(t, name):
    t.op(f"torch.{name}", value=t.tensor(4), at="train.py:20", args={"input": t.tensor(4)})


def train(folder, orders):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for names in orders:
        for name in names.split():
            op(t, name)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, ["exp log", "log exp", "log floor exp log", "floor log exp", *["log exp"] * 4])


def fine(folder):
    train(folder, ["exp log", "log log exp", "log exp floor", "exp log", "log exp"])


def broken(folder):
    train(folder, ["exp log", "log exp", *["exp log"] * 6])
