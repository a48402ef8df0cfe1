# SPDX-License-Identifier: Apache-2.0
"""The optimizer holds the old head: the new one gets gradients and no optimizer has it."""
from trace_writer import Trace


def train(folder, forgets_head=False):
    t = Trace(folder)
    model = t.net("body", "head")
    optimizer = t.optimizer(model, params=[model.var("body")] if forgets_head else None)
    for _ in range(6):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, forgets_head=True)
