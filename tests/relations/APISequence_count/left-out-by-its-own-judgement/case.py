# SPDX-License-Identifier: Apache-2.0
"""A script may leave out a critic's step by its own judgement, and have left out none in the runs learned from. Of a hundred steps one says nothing;
three do."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, left_out=()):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(100):
        if i not in left_out:
            t.op("torch.nn.functional.softplus", value=t.tensor(4), at="train.py:20", args={"input": t.tensor(4)})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, left_out=(31,))


def broken(folder):
    train(folder, left_out=(31, 50, 51))
