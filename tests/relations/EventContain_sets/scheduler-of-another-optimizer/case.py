# SPDX-License-Identifier: Apache-2.0
"""The optimizer was built anew and the scheduler was not: it turns the rate of one that never steps."""
from trace_writer import Trace


def train(folder, turns_old=(), turns_new=()):
    """In these steps the scheduler changes the rate of that optimizer."""
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    old = t.settings("sgd.param_groups[0]", lr=0.1, idle=True)
    new = t.settings("optimizer.param_groups[0]", lr=0.1)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.enter("torch.optim.lr_scheduler.LRScheduler.step", at="train.py:14", self={"object": "StepLR", "id": 90, "attrs": {}})
        for group, steps in ((old, turns_old), (new, turns_new)):
            if i in steps:
                t.adjust(group, lr=0.1 / (i + 2))
        t.leave()
        t.cut()
    t.end()


def healthy(folder):
    train(folder, turns_new=range(6))


def fine_that_waits(folder):
    train(folder)


def fine_that_turns_both(folder):
    train(folder, turns_old=range(6), turns_new=range(6))


def fine_until_the_other_begins(folder):
    train(folder, turns_old=(0, 1), turns_new=(2, 3, 4, 5))


def broken(folder):
    train(folder, turns_old=(0, 2, 3, 4))
