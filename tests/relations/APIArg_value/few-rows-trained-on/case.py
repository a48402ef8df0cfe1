# SPDX-License-Identifier: Apache-2.0
"""None of the rows of an evaluation were trained on. That one of twelve was may be chance, as two samples may be alike; three of them are a
breach."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def rows(t, numbers):
    return {**t.tensor(len(numbers), 4), "rows": "".join(f"{n:08x}" for n in numbers)}


def train(folder, first=0, n_known=0):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(4):
        t.zero_grad(optimizer)
        t.forward(model, args={"input": rows(t, range(first + 12 * step, first + 12 * step + 12))})
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.stage, model["training"] = "evaluation", False
    for step in range(3):
        known = range(first, first + n_known)
        t.forward(model, args={"input": rows(t, [*known, *range(200 + 12 * step, 212 + 12 * step - n_known)])}, ctx={"grad": False})
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder, first=60)


def fine(folder):
    train(folder, n_known=1)


def broken(folder):
    train(folder, n_known=3)
