# SPDX-License-Identifier: Apache-2.0
"""A script multiplies what exp() made by 2 and what log() made by 0.5, in one context: in the broken run both are multiplied by 0.5. An operand
that nothing is known to have made, and a flag that is absent now and then, tell no calls apart."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]


def train(folder, factor=2):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(6):
        x, y, z = t.tensor(4), t.tensor(4), t.tensor(4)
        t.op("torch.exp", role="operator", at="train.py:20", args={"input": x}, value=y)
        t.op("torch.log", role="operator", at="train.py:21", args={"input": x}, value=z)
        t.op("torch.Tensor.mul", role="operator", at="train.py:22", self=y, args={"other": factor, "out": None})
        t.op("torch.Tensor.mul", role="operator", at="train.py:23", self=z, args={"other": 0.5, "out": None})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_too(folder):
    train(folder)


def broken(folder):
    train(folder, factor=0.5)
