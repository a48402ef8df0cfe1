# SPDX-License-Identifier: Apache-2.0
"""What is computed once, before the first step: a sum of what was added; in the broken run of what was there before. What flows in later
steps too is claimed of those, and of what a loop of random length makes nothing is claimed."""
from trace_writer import Trace

OPTIONS = ["--specific"]
ADD, SUM, DRAW, EXP = "torch.Tensor.add", "torch.Tensor.sum", "torch.rand", "torch.Tensor.exp"


def train(folder, is_broken=False, n_drawn=2):
    t = Trace(folder, operators=True)
    there, more = t.tensor(4), t.tensor(4)
    t.op("torch.zeros", at="train.py:2", value=there)
    t.op(ADD, role="operator", at="train.py:3", value=more, self=there)
    t.op(SUM, role="operator", at="train.py:4", value=t.tensor(), self=there if is_broken else more)
    for _ in range(n_drawn):
        x = t.tensor(4)
        t.op(DRAW, at="train.py:5", value=x)
        t.op(EXP, role="operator", at="train.py:6", value=t.tensor(4), self=x)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def healthy_too(folder):
    train(folder, n_drawn=3)


def fine(folder):
    train(folder, n_drawn=5)


def broken(folder):
    train(folder, is_broken=True)
