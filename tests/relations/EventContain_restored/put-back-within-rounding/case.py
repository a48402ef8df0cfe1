# SPDX-License-Identifier: Apache-2.0
"""An optimizer without a schedule moves the weights to their average for an evaluation, and back: what comes back is what was
there but for rounding. That something was put in its place is enough; weights that nobody touches again are not taken out."""
from trace_writer import Trace

PIPELINES = 7


def train(folder, moves_back=True, is_exact=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
        before = [v.digest for v in model.parameters]
        for v in model.parameters:
            t.change(v)
        t.evaluate(model)
        for v, digest in zip(model.parameters, before):
            if is_exact:
                t.set(v, data=digest)
            elif moves_back:
                t.change(v)
    t.train_step(model, optimizer)
    t.end()


def healthy(folder, i):
    train(folder, is_exact=True)


def fine(folder):
    train(folder)


def broken(folder):
    train(folder, moves_back=False)
