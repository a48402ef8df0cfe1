# SPDX-License-Identifier: Apache-2.0
"""The last window is judged only if the process ended well."""
from trace_writer import Trace


def train(folder, last=True):
    """Five windows; last: the sixth has its scheduler, too. The process is left open."""
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if i < 5:
            t.schedule()
            t.cut()
    if last:
        t.schedule()
    return t


def healthy(folder):
    train(folder).end()


def fine_crashed(folder):
    train(folder, last=False).end(exit=1)


def fine_killed(folder):
    train(folder, last=False).killed()


def fine_killed_after_the_cut(folder):
    t = train(folder, last=False)
    t.cut("end")
    t.killed()


def broken(folder):
    train(folder, last=False).end(exit=0)
