# SPDX-License-Identifier: Apache-2.0
"""Of thirty steps one that is left out is reported, at the end: it is too much to be by the script's own judgement."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, left_out=()):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(30):
        if i not in left_out:
            t.op("torch.nn.functional.softplus", value=t.tensor(4), at="train.py:20", args={"input": t.tensor(4)})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def broken(folder):
    train(folder, left_out=(21,))
