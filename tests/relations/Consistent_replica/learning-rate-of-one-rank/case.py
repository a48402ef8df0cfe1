# SPDX-License-Identifier: Apache-2.0
"""Rank 1 halves its learning rate on its own. A schedule may turn before or after the cut of the window."""
from trace_writer import Trace


def rank(folder, number, halves_from=None):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.net("w")
    optimizer = t.optimizer(model)
    group = t.settings(lr=0.1, momentum=0.9)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if number:
            t.cut()
        t.schedule(group=group, lr=0.1 + i)
        if i == halves_from and number == 1:
            t.adjust(group, lr=0.05)
        if not number:
            t.cut()
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def broken(folder):
    rank(folder, 0, halves_from=2)
    rank(folder, 1, halves_from=2)
