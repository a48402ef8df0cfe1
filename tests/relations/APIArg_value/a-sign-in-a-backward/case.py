# SPDX-License-Identifier: Apache-2.0
"""A function of the script reverses gradients: within the backward it multiplies by numbers that fall from zero on. In the broken run they rise."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, sign=-1):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(40):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, hook=lambda: t.op("torch.Tensor.mul", role="operator", here="train.py:19", value=t.tensor(4),
                                            self=t.tensor(4), args={"other": sign * i / 40}))
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def broken(folder):
    train(folder, sign=1)
