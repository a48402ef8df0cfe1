# SPDX-License-Identifier: Apache-2.0
"""A score of [rows, 1] less a target of [rows]. In the broken run both are as they were made. Right are two of one shape, a dimension that a line has given its
operand, as all pairs need it, a table that is the same in each step, and two tensors of the model."""
from trace_writer import Trace

RULE = True


def tensor(t, *shape, grad=False, id=None):
    return t.tensor(*shape, id=id) | {"requires_grad": grad}


def operate(t, fn, own, value, at="train.py:12", **args):
    t.op(f"torch.Tensor.{fn}", role="operator", at=at, self=own, value=value, args=args)
    return value


def train(folder, scores=(8, 1), targets=(8,), given=False, table=None, of_model=False, steps=5):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        score = tensor(t, *scores, grad=True)
        target = tensor(t, *targets, grad=of_model, id=table)
        if given:
            score = operate(t, "unsqueeze", tensor(t, 8, grad=True), score, at="train.py:11", dim=1)
        n = 8 if scores == targets else 64
        difference = tensor(t, *scores, grad=True) if n == 8 else tensor(t, 8, 8, grad=True)
        operate(t, "sub", score, difference, other=target)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, targets=(8, 1))


def fine_all_pairs(folder):
    train(folder, given=True)


def fine_table(folder):
    train(folder, table=777)


def fine_two_of_the_model(folder):
    train(folder, of_model=True)


def fine_twice(folder):
    train(folder, steps=2)


def broken(folder):
    train(folder)
