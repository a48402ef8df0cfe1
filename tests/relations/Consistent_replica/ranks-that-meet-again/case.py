# SPDX-License-Identifier: Apache-2.0
"""Local SGD: ranks go their own ways and are averaged now and then. Where they never meet again, they have diverged. What
joins them in the last step may follow the last look, or a part of it."""
from trace_writer import Trace


def rank(folder, number, own=(), last=()):
    """own: the steps in which what rank 1 has is not what rank 0 has; last: those in which its last parameter is not."""
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.net("w", "b", "c")
    optimizer = t.optimizer(model)
    for i in range(12):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        for v in model.parameters:
            v.version = 100 * i + 50 * (i in own or (v is model.parameters[-1] and i in last))
            t.set(v, inside=False, data=v.digest)
        t.cut()
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def fine_met_again(folder):
    rank(folder, 0)
    rank(folder, 1, own=[0, 1, 2, 4, 5, 6, 8, 9, 10])


def fine_until_the_end(folder):
    rank(folder, 0)
    rank(folder, 1, own=[0, 1, 2, 4, 5, 6, 8, 9, 10, 11])


def fine_met_but_for_one_at_the_end(folder):
    rank(folder, 0)
    rank(folder, 1, own=[0, 1, 2, 4, 5, 6, 8, 9, 10], last=[11])


def fine_in_the_last_look(folder):
    rank(folder, 0)
    rank(folder, 1, own=[11])


def broken(folder):
    rank(folder, 0)
    rank(folder, 1, own=range(6, 12))
