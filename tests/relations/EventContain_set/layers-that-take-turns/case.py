# SPDX-License-Identifier: Apache-2.0
"""Three layers are trained in turn: that is a rule, and so is what the first step changes. The broken run begins with the second one."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, first=0):
    t = Trace(folder)
    model = t.net("first", "second", "third")
    optimizer = t.optimizer(model)
    for step in range(16):
        turn = [model.parameters[(first + step) % 3]]
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, reaches=turn)
        t.step(optimizer, changes=turn)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def broken(folder):
    train(folder, first=1)
