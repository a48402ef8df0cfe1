# SPDX-License-Identifier: Apache-2.0
"""Gradients are cleared before the scheduler steps, so that its call stands behind the cut: it closes the step before, of which there is
none in the first window. So does one that follows an evaluation, whose results the ranks add up."""
from trace_writer import Trace


def train(folder, is_late=False, from_the_first=False, adds_up=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(5):
        if is_late or from_the_first:
            t.zero_grad(optimizer)
            if adds_up:
                t.all_reduce()
            if i > 0 or from_the_first:
                t.schedule()
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if not is_late and not from_the_first and i != 2:
            t.zero_grad(optimizer)
            t.schedule()
        t.cut("zero_grad" if is_late else "data")
    t.end()


def healthy(folder):
    train(folder)


def fine_behind_the_cut(folder):
    train(folder, is_late=True)


def fine_behind_a_sum_of_results(folder):
    train(folder, is_late=True, adds_up=True)


def broken_from_the_first(folder):
    train(folder, from_the_first=True)
