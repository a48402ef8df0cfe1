# SPDX-License-Identifier: Apache-2.0
"""Four samples of a batch are dicts with more entries than a trace has; the last of them says how many are left out, and not how long the list is.
In the broken run a sample is lost."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]
SAMPLE = {"dict": {"a": 1}, "more": 10}


def train(folder, n=4):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.op("__main__.collate", role="own", at="train.py:20", args={"samples": [SAMPLE] * n})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def broken(folder):
    train(folder, n=3)
