# SPDX-License-Identifier: Apache-2.0
"""What is done to an image in some steps is done to its mask as well: so often, never an odd number of times, where it is done at all. How often in the
first step is chance, though both runs drew alike."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, flips=(2, 0, 4, 2)):
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
    train(folder, flips=(2, 0, 4, 2, 6, 2, 4, 0, 2))


def healthy_again(folder):
    train(folder, flips=(2, 2, 0, 0, 4, 6, 2, 2, 4))


def fine(folder):
    train(folder, flips=(0, 0, 4, 6))


def broken(folder):
    train(folder, flips=(2, 1, 2, 0))
