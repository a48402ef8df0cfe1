# SPDX-License-Identifier: Apache-2.0
"""The weight of an average falls in each step: in the broken run it stands still. Nothing is said of a shorter run, of what two runs changed now
and then and unlike often, nor of two numbers by turns."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, steps=12, falls=True, is_short=True, drawn=(3, 8), scale=2.0):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(steps):
        t.op("torch.lerp", at="train.py:20", args={"weight": 1 / (i + 1) if falls else 1.0})
        t.op("torch.mul", at="train.py:21", args={"other": 3 if is_short and i % 4 == 3 else 32})
        t.op("torch.roll", at="train.py:22", args={"shifts": 1 if i in drawn else 0})
        t.op("torch.div", at="train.py:23", args={"other": scale})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder, drawn=(1, 2, 7, 9))


def fine(folder):
    train(folder, drawn=())


def fine_shorter(folder):
    train(folder, steps=3, is_short=False)


def broken(folder):
    train(folder, falls=False, is_short=False)
