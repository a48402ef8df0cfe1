# SPDX-License-Identifier: Apache-2.0
"""An evaluation has the same two batches each time, so that none is what the last one was, whether they are of one length or of two. In the broken run
all evaluations have one of them."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, first=0, lengths=(4, 4), batches=(0, 1)):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(16):
        t.train_step(model, optimizer)
        t.cut()
        t.stage = "evaluation"
        for i in batches:
            t.forward(model, at="train.py:20", args={"input": {**t.tensor(3, lengths[i]), "digest": f"{first + i:016x}"}}, ctx={"grad": False})
        t.stage = "training"
    t.end()


def healthy(folder):
    train(folder, 10)


def healthy_again(folder):
    train(folder, 20, lengths=(5, 5))


def fine(folder):
    train(folder, 30, lengths=(4, 6))


def broken(folder):
    train(folder, 40, batches=(0, 0))
