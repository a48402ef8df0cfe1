# SPDX-License-Identifier: Apache-2.0
"""A memory is asked in each step, mostly right after an evaluation: once a run it was in training, by chance. What is set to zero in each of
two stages each run sets to zero there: the broken run leaves out one of them.
A mean is logged now and then, mostly after an evaluation."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, asked, clears=True):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(12):
        if step % 6 == 5:
            t.op("torch.zeros", at="train.py:30")
        t.stage = "training" if step == asked else "evaluation"
        t.op("torch.ask", at="train.py:20")
        if step % 4 == 3:
            t.op("numpy.mean", role="package", at="train.py:40")
        if clears and step % 6 == 5:
            t.op("torch.zeros", at="train.py:31")
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 3)


def healthy_again(folder):
    train(folder, 7)


def fine(folder):
    train(folder, None)


def broken(folder):
    train(folder, 3, clears=False)
