# SPDX-License-Identifier: Apache-2.0
"""In some steps two images are flipped, in one there are four: that two counts are even may be chance. Three in a later run are no fault."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, flips):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for n in flips:
        for _ in range(n):
            t.op("torch.flip", value=t.tensor(4), at="train.py:20", args={"input": t.tensor(4)})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, flips=(2, 0, 4, 2, 2, 2, 4, 0, 2, 2))


def healthy_again(folder):
    train(folder, flips=(2, 2, 0, 0, 4, 2, 2, 2, 4, 2))


def fine(folder):
    train(folder, flips=(0, 3, 4, 2))
