# SPDX-License-Identifier: Apache-2.0
"""Scores are masked by masked_fill(), which returns the masked ones. In the broken run nobody uses what it returns. Right are results that are used at the end of
a step, results of which some are used, results without gradients, which a script may only print, and such a function in few steps."""
from trace_writer import Trace

RULE = True


def train(folder, use="at once", grad=True, steps=6):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        t.forward(model)
        masked = []
        for _ in range(3):
            scores = t.tensor(8, 8) | {"requires_grad": grad}
            masked.append(t.tensor(8, 8) | {"requires_grad": grad})
            t.op("torch.Tensor.masked_fill", role="operator", at="train.py:9", self=scores, args={"mask": t.tensor(8, 8, dtype="bool"), "value": -1}, value=masked[-1])
            if use == "at once" or use == "once" and step == 1:
                t.op("torch.nn.functional.softmax", at="train.py:10", args={"input": masked[-1], "dim": -1}, value=t.tensor(8, 8))
        if use == "at the end":
            t.op("torch.stack", role="operator", at="train.py:12", args={"tensors": masked, "dim": 0}, value=t.tensor(3, 8, 8))
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder)


def fine_at_the_end(folder):
    train(folder, use="at the end")


def fine_in_one_step(folder):
    train(folder, use="once")


def fine_without_gradients(folder):
    train(folder, use=None, grad=False)


def fine_of_few_steps(folder):
    train(folder, use=None, steps=3)


def broken(folder):
    train(folder, use=None)
