# SPDX-License-Identifier: Apache-2.0
"""Under Join ranks whose data has ended do not step, so that step n of one is not step n of another: from there on nothing is
compared. A rank that leaves out a step without saying so is reported."""
from trace_writer import Trace


def rank(folder, number, joins=False, rests_at=None):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(6):
        if joins and i == 2:
            t.call("torch.distributed.algorithms.Join.__enter__")
        t.train_step(model, optimizer, changes=[] if number == 1 and i == rests_at else None)
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def fine(folder):
    rank(folder, 0, joins=True)
    rank(folder, 1, joins=True, rests_at=3)


def broken(folder):
    rank(folder, 0)
    rank(folder, 1, rests_at=3)
