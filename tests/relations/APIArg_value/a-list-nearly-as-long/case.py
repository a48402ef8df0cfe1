# SPDX-License-Identifier: Apache-2.0
"""How many batches an epoch has depends on what was drawn for training; in the broken run half of them are left out."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]


def train(folder, n=33):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.op("random.Random.shuffle", at="train.py:20", args={"x": [*range(8), {"more": n - 8}]})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, n=35)


def broken(folder):
    train(folder, n=17)
