# SPDX-License-Identifier: Apache-2.0
"""Four scripts make a backward for each of four parts of a batch. In the broken run it is made for the total so far, so that the first part
counts four times. A part of which the gradient is looked at before the whole is right, and so is a total that gradients are cleared before."""
from trace_writer import Trace

F = "torch.nn.functional."
PIPELINES = 4


def number(t, value):
    return t.tensor() | {"value": value, "requires_grad": True}


def add(t, x, other):
    y = number(t, x["value"] + other["value"])
    t.op("torch.Tensor.add", role="operator", at="train.py:8", self=x, args={"other": other}, value=y)
    return y


def train(folder, parts=4, runs_on=False, clears=False):
    t = Trace(folder, operators=True)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.zero_grad(optimizer)
        total = None
        for part in range(parts):
            t.forward(model)
            loss = add(t, number(t, 1.5 + part), number(t, 0.25))
            total = add(t, total, loss) if total else loss
            if clears and part:
                t.zero_grad(optimizer)
            t.backward(model, of=total if runs_on else loss)
        t.step(optimizer)
        t.cut("forward")
    t.end()


def healthy(folder, i):
    train(folder)


def fine_with_a_look_at_a_part(folder):
    train(folder, parts=2, runs_on=True)


def fine_that_is_cleared(folder):
    train(folder, runs_on=True, clears=True)


def broken(folder):
    train(folder, runs_on=True)
