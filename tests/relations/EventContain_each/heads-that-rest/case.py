# SPDX-License-Identifier: Apache-2.0
"""A parameter without a gradient rests, if a step of the run changes it; reported is one that none changes, of ten or more."""
from trace_writer import Trace


def train(folder, late=0):
    """late: the step at which the second head has its first turn."""
    t = Trace(folder)
    model = t.net("body", "a", "b")
    optimizer = t.optimizer(model)
    body, a, b = model.parameters
    for i in range(24):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, reaches=[body, b if i == late or late < i > 20 else a])
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, late=9)


def fine_once_a_phase_ends(folder):
    train(folder, late=20)


def broken(folder):
    train(folder, late=99)
