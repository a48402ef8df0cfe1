# SPDX-License-Identifier: Apache-2.0
"""In each step a sum is divided by the number of words and the logarithms of both are taken. In the broken run nothing divides: the call that is gone has
no line, and is reported where its result was read."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, steps=4, is_broken=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(steps):
        total, mean = t.tensor(4), t.tensor(4)
        t.op("torch.sum", at="train.py:20", value=total)
        if not is_broken:
            t.op("torch.div", at="train.py:21", value=mean, args={"input": total})
        for x in (total, total if is_broken else mean):
            t.op("torch.log", at="train.py:22", value=t.tensor(4), args={"input": x})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_longer(folder):
    train(folder, steps=20)


def broken(folder):
    train(folder, is_broken=True)
