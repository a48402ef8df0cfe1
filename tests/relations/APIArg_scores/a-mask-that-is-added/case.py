# SPDX-License-Identifier: Apache-2.0
"""Scores of frames, some of which hold nothing, become shares by a softmax. In the broken runs the mask is added to the scores, or a mask of numbers is
multiplied with them. Right are masked_fill(), scores without a mask, shares that are masked afterwards, an evaluation, and two such calls."""
from trace_writer import Trace

RULE = True
SHAPE = 4, 8


def train(folder, how="__add__", numbers=False, after=False, grad=None, steps=4):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(steps):
        scores, mask, joined, shares = (t.tensor(*SHAPE) | {"requires_grad": True}, t.tensor(*SHAPE, dtype="bool"),
                                        t.tensor(*SHAPE) | {"requires_grad": True}, t.tensor(*SHAPE) | {"requires_grad": True})
        if numbers:
            plain, mask = mask, t.tensor(*SHAPE)
            t.op("torch.Tensor.float", role="operator", at="train.py:19", self=plain, value=mask)
        if how == "masked_fill":
            t.op("torch.Tensor.masked_fill", role="operator", at="train.py:20", self=scores, args={"mask": mask, "value": -1e9}, value=joined, ctx=grad)
        elif how:
            t.op(f"torch.Tensor.{how}", role="operator", at="train.py:20", self=scores, args={"other": mask}, value=joined, ctx=grad)
        t.op("torch.Tensor.softmax", role="operator", at="train.py:21", self=joined if how else scores, args={"dim": 1}, value=shares, ctx=grad)
        t.op("torch.Tensor.__mul__", role="operator", at="train.py:22", self=shares, args={"other": mask if after else scores}, value=t.tensor(*SHAPE), ctx=grad)
        t.train_step(model, optimizer)
    t.end()


def fine_filled(folder):
    train(folder, how="masked_fill")


def fine_without(folder):
    train(folder, how=None)


def fine_masked_afterwards(folder):
    train(folder, how="__mul__", after=True)


def fine_evaluated(folder):
    train(folder, grad={"grad": False})


def fine_twice(folder):
    train(folder, steps=2)


def broken(folder):
    train(folder)


def broken_by_a_product(folder):
    train(folder, how="__mul__", numbers=True)
