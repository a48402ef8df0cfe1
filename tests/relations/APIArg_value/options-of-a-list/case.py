# SPDX-License-Identifier: Apache-2.0
"""A function of the script is given options of the command line as a list, before the first step. They are one text, a setting: in the broken run
there is one more. What it is given in each step is told element by element."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]


def train(folder, *more):
    t = Trace(folder)
    t.stage = "init"
    t.op("__main__.configure", role="own", at="train.py:20", args={"options": ["--rate=0.1", "--width=8", *more]})
    t.stage = "training"
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.op("__main__.report", role="own", at="train.py:21", args={"names": ["loss", "norm"]})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def broken(folder):
    train(folder, "--seed=3")
