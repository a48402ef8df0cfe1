# SPDX-License-Identifier: Apache-2.0
"""Rounding may swallow a tiny gradient: nobody is blamed for what it does not change."""
from trace_writer import Trace


def train(folder, grad, changes=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, grad=grad)
        t.step(optimizer, changes)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, "non_zero")


def fine(folder):
    train(folder, "tiny", changes=[])


def fine_now_and_then_a_little_larger(folder):
    """A bias before a norm: what is a little more than tiny is lost, too, at a small rate."""
    t = Trace(folder)
    model = t.model("net", {"b": {"shape": [4]}})
    optimizer = t.optimizer(model)
    for grad in ("tiny", *["non_zero"] * 12):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, grad=grad)
        t.step(optimizer, [])
        t.cut()
    t.end()


def fine_cleared_by_the_step_itself(folder):
    """What counts is the gradient that the step read, not what it left behind."""
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.backward(model, grad="tiny")
        t.enter("torch.optim.Optimizer.step", at="train.py:13", **t.on_optimizer(optimizer))
        t.set(model.var("w"), grad="null")
        t.leave()
        t.cut()
    t.end()


def fine_cleared_by_what_the_step_calls(folder):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(12):
        t.backward(model, grad="tiny")
        t.enter("torch.optim.Optimizer.step", at="train.py:13", **t.on_optimizer(optimizer))
        t.zero_grad(optimizer)
        t.leave()
        t.cut()
    t.end()


def broken(folder):
    train(folder, "non_zero", changes=[])
