# SPDX-License-Identifier: Apache-2.0
"""Averages are put in for an evaluation and taken out through `.data`, which no version counter shows: the model is seen to train on with them, but the
call that wrote to it is in the trace. A call that wrote before the evaluation alone takes nothing out."""
from trace_writer import Trace

PIPELINES = 7


def copy(t, v, at):
    t.op("torch.Tensor.copy_", role="fill", at=at, self=t.tensor(4, 4, id=v.serial), args={"src": t.tensor(4, 4)})


def train(folder, takes_out=True, is_seen=True):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
        before = [v.digest for v in model.parameters]
        for v in model.parameters:
            copy(t, v, "train.py:30")
            t.change(v)
        t.evaluate(model)
        for v, digest in zip(model.parameters, before):
            if takes_out:
                copy(t, v, "train.py:33")
            if takes_out and is_seen:
                t.set(v, data=digest)
        t.train_step(model, optimizer)
    t.end()


def healthy(folder, i):
    train(folder)


def fine(folder):
    train(folder, is_seen=False)


def broken(folder):
    train(folder, takes_out=False)
