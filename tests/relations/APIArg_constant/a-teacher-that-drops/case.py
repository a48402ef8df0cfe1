# SPDX-License-Identifier: Apache-2.0
"""A teacher is asked in each step without gradients, and drops as its student does, which averages its answers. In the broken run a model that is trained
drops in an evaluation, and so does one that no step trains and that is asked now and then."""
from trace_writer import FORWARD, Trace

DROPOUT = "torch.nn.functional.dropout"


def forward(t, model, training, at, ctx=None):
    x = t.tensor(8, 4)
    t.enter(FORWARD, at=at, ctx=ctx, args={"x": x}, self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": training}})
    t.call(DROPOUT, args={"input": x, "p": 0.5, "training": training}, ctx=ctx)
    t.leave()


def train(folder, drops=False, evaluated=None, every=1):
    t = Trace(folder)
    model = t.net("w")
    other = t.model("teacher", {"w": {}})
    optimizer = t.optimizer(model)
    for i in range(9):
        t.stage = "evaluation"
        if i % every == 0:
            forward(t, other, drops, at="train.py:10", ctx={"grad": False})
        t.stage = "training"
        t.zero_grad(optimizer)
        forward(t, model, True, at="train.py:11")
        t.backward(model)
        t.step(optimizer)
        t.cut()
        t.stage = "evaluation"
        if evaluated is not None:
            forward(t, model, evaluated, at="train.py:20", ctx={"grad": False})
        t.stage = "training"
    t.end()


def healthy(folder):
    train(folder, evaluated=False)


def fine(folder):
    train(folder, drops=True)


def broken(folder):
    train(folder, drops=True, evaluated=True, every=4)
