# SPDX-License-Identifier: Apache-2.0
"""An agent looks at what it observes: so often before its model is asked first, and from then on another time in each step. Two runs may
have begun alike. What else is called at the start has a count: the broken run seeds twice."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, before, later, seeds=1):
    t = Trace(folder)
    for _ in range(seeds):
        t.call("torch.manual_seed", role="seed", at="train.py:5")
    for _ in range(before):
        t.op("torch.tensor", at="train.py:20")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for n in later:
        for _ in range(n):
            t.op("torch.tensor", at="train.py:20")
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 8, (3, 1, 4, 2))


def healthy_again(folder):
    train(folder, 8, (5, 2, 3, 1))


def fine(folder):
    train(folder, 4, (6, 2, 3, 1))


def broken(folder):
    train(folder, 8, (3, 1, 4, 2), seeds=2)
