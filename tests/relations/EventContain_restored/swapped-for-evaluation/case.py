# SPDX-License-Identifier: Apache-2.0
"""Seven scripts swap other weights in for evaluations, and back; one that clamps its weights after every step says nothing. Nor does
one that no optimizer steps: the script tries its steps, and the last stands."""
from trace_writer import Trace

PIPELINES = 8


def train(folder, restores=(True,) * 4, clamps=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for is_restored in restores:
        t.train_step(model, optimizer)
        if clamps:
            t.change(model.var("w"))
        t.train_step(model, optimizer)
        before = [v.digest for v in model.parameters]
        for v in model.parameters:
            t.change(v)
        t.evaluate(model)
        for v, digest in zip(model.parameters, before):
            if is_restored:
                t.set(v, data=digest)
    t.train_step(model, optimizer)
    t.end()


def healthy(folder, i):
    train(folder, clamps=i == 7)


def fine(folder):
    train(folder, restores=(False,) * 4, clamps=True)


def fine_trained_by_hand(folder):
    t = Trace(folder)
    policy, critic = t.net("w"), t.model("critic", {"v": {}})
    optimizer = t.optimizer(critic)
    for _ in range(4):
        t.train_step(critic, optimizer)
        t.forward(policy)
        t.change(policy.var("w"), inside=False)
        t.evaluate(policy)
    t.end()


def broken(folder):
    train(folder, restores=(True, True, False, True))
