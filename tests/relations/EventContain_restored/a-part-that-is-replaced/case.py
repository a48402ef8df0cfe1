# SPDX-License-Identifier: Apache-2.0
"""A norm is folded into the layer before it, and tried, as the model gets a new head: what was put in then stays. With the head
that it had it would have been taken out again."""
from trace_writer import Trace

PIPELINES = 7


def train(folder, stays=False, new_head=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(4):
        t.train_step(model, optimizer)
        before = [v.digest for v in model.parameters]
        for v in model.parameters:
            t.change(v)
        t.evaluate(model)
        for v, digest in zip(model.parameters, before):
            if i < 3 or not stays:
                t.set(v, data=digest)
    if new_head:
        t.grow(model, "head")
        optimizer = t.optimizer(model)
    t.train_step(model, optimizer)
    t.end()


def healthy(folder, i):
    train(folder)


def fine(folder):
    train(folder, stays=True, new_head=True)


def broken(folder):
    train(folder, stays=True)
