# SPDX-License-Identifier: Apache-2.0
"""The exponent of weights falls from -0.4 on: in the broken run it rises from 0.4. What is now on this side and now on that, what had one number,
what is on the other side in some calls alone, and what begins with infinity break nothing."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, seed, side=-1, turns=0, steps=40):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(steps):
        number = (0.4 + (i * 7 + seed) % 41 / 100)
        t.op("torch.Tensor.pow", role="operator", at="train.py:20", args={"exponent": side * number})
        t.op("torch.Tensor.mul", role="operator", at="train.py:21", args={"other": (-1 if (i + seed) % 3 else 1) * number})
        t.op("torch.Tensor.add", role="operator", at="train.py:22", args={"other": -0.5})
        t.op("torch.Tensor.sub", role="operator", at="train.py:23", args={"other": (1 if i < turns else -1) * number})
        t.op("torch.Tensor.clamp", role="operator", at="train.py:24", args={"max": number if i else {"float": "inf"}})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 3)


def healthy_too(folder):
    train(folder, 5)


def fine(folder):
    train(folder, 8, turns=12)


def fine_short(folder):
    train(folder, 8, side=1, steps=7)


def broken(folder):
    train(folder, 4, side=1)
