# SPDX-License-Identifier: Apache-2.0
"""Learned from runs that were traced without the script's own operators: to what was learned so, the operators of a run that was traced
with them are no calls, and what they return comes from outside. The broken run lacks another call."""
from trace_writer import Trace

OPTIONS = ["--specific"]
MUL, LOOK, INNER = "torch.Tensor.mul", "torch.look", "torch.inner"


def train(folder, steps=4, operators=False, looks=True):
    t = Trace(folder, **({"operators": True} if operators else {}))
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        noise, scaled = t.tensor(4), t.tensor(4)
        t.op("torch.draw", at="train.py:20", value=noise)
        if operators:
            t.enter(MUL, role="operator", at="train.py:21", self=noise, args={"other": 2})
        t.op(INNER, at="train.py:21", args={"x": noise})
        if operators:
            t.leave(value=scaled)
        if looks:
            t.op(LOOK, at="train.py:23", args={"x": scaled})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_longer(folder):
    train(folder, steps=7)


def fine_with_operators(folder):
    train(folder, operators=True)


def broken(folder):
    train(folder, operators=True, looks=False)
