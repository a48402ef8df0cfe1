# SPDX-License-Identifier: Apache-2.0
"""Batches of a size that each step draws: that two runs drew one size first is chance. A width that is one number in all steps is a choice."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, sizes, width=7):
    t = Trace(folder)
    model = None
    for n in sizes:
        t.op("torch.pad", at="train.py:8", value=t.tensor(n, 4), args={"sequences": [t.tensor(4)] * n, "width": width, "total": n * 4})
        if not model:
            model = t.net("w")
            optimizer = t.optimizer(model)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, [3, 2, 3, 4, 2, 4])


def healthy_again(folder):
    train(folder, [3, 4, 2, 2, 3, 4])


def fine(folder):
    train(folder, [4, 2, 3, 3, 2, 4])


def broken(folder):
    train(folder, [3, 2, 3, 4, 2, 4], width=8)
