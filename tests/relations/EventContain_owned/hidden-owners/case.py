# SPDX-License-Identifier: Apache-2.0
"""A release of torch that keeps its groups elsewhere: a step does not tell what its optimizer owns, so that nobody is accused."""
from trace_writer import STEP, Trace


def train(folder, owned=("w", "v"), hides=False):
    t = Trace(folder)
    model = t.net("w", "v")
    optimizer = t.optimizer(model, params=[model.var(name) for name in owned])
    for _ in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if hides:
            t.enter(STEP, at="train.py:13", self={"object": "torch.optim.Adam", "id": optimizer["id"], "attrs": {}})
            t.leave()
            t.stepped = True
        else:
            t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, owned=["w"], hides=True)


def broken(folder):
    train(folder, owned=["w"])
