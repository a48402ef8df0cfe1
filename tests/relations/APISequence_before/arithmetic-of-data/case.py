# SPDX-License-Identifier: Apache-2.0
"""Before the first step a script adds and multiplies arrays, some forty times in an order that is drawn, and splits them once they are
scaled. The order of the last two is one of its set-up; the broken run splits first."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APISequence/before"]


def train(folder, first, last=("scale", "split")):
    t = Trace(folder)
    for name in [first] + ["numpy.add", "numpy.multiply"] * 40 + [f"sklearn.{name}" for name in last]:
        t.op(name, role="package", at="train.py:20", args={"x": t.tensor(64)}, value=t.tensor(64))
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, "numpy.add")


def healthy_again(folder):
    train(folder, "numpy.add")


def fine(folder):
    train(folder, "numpy.multiply")


def broken(folder):
    train(folder, "numpy.multiply", ("split", "scale"))
