# SPDX-License-Identifier: Apache-2.0
"""A result is split, and the first part is asked; in the broken run the second is. What the parts come from is the same."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIOutput/value"]


def train(folder, part=0):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(5):
        parts = [t.tensor(4, 3), t.tensor(4, 3)]
        t.op("torch.Tensor.chunk", role="operator", at="train.py:20", value=parts, self=t.tensor(8, 3), args={"chunks": 2})
        t.op("torch.Tensor.softmax", role="operator", at="train.py:21", value=t.tensor(4, 3), self=parts[part], args={"dim": 1})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def broken(folder):
    train(folder, part=1)
