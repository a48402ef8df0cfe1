# SPDX-License-Identifier: Apache-2.0
"""Only the class tells what holds from what breaks, and four pipelines have that class: two for the hypothesis, two for the clause."""
from trace_writer import Trace


def train(folder, name, changes=None):
    t = Trace(folder)
    model, other = t.net("w"), t.net("v")
    good, idle = t.optimizer(model, cls=f"torch.optim.{name}"), t.optimizer(other, cls="torch.optim.SGD")
    for _ in range(5):
        for m, optimizer, changed in ((model, good, changes), (other, idle, [])):
            t.zero_grad(optimizer)
            t.forward(m)
            t.backward(m)
            t.step(optimizer, changed)
        t.cut()
    t.end()


PIPELINES = 4


def healthy(folder, i):
    train(folder, "Adam")


def fine(folder):
    train(folder, "Rprop", changes=[])


def broken(folder):
    train(folder, "Adam", changes=[])
