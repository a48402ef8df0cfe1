# SPDX-License-Identifier: Apache-2.0
"""Each class was met in one pipeline only, and "is not SGD" is never said of a class."""
from trace_writer import Trace


def train(folder, name):
    t = Trace(folder)
    model, other = t.net("w"), t.net("v")
    good, idle = t.optimizer(model, cls=f"torch.optim.{name}"), t.optimizer(other, cls="torch.optim.SGD")
    for _ in range(5):
        for m, optimizer, changed in ((model, good, None), (other, idle, [])):
            t.zero_grad(optimizer)
            t.forward(m)
            t.backward(m)
            t.step(optimizer, changed)
        t.cut()
    t.end()


def healthy_1(folder):
    train(folder, "Adam")


def healthy_2(folder):
    train(folder, "AdamW")
