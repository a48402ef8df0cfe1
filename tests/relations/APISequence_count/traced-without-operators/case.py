# SPDX-License-Identifier: Apache-2.0
"""Learned from runs that were traced with the script's own operators and their contents. A run traced without is judged by the rest: a
call that was not to be traced was not left out. The broken run, traced so too, lacks another call."""
from trace_writer import Trace

OPTIONS = ["--specific"]
MUL, LOOK = "torch.Tensor.mul", "torch.look"


def train(folder, steps=4, operators=True, content="full", looks=True):
    asked = {"operators": True} if operators else {}
    t = Trace(folder, schema=5, content=content, **asked)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        noise, scaled = t.tensor(4), t.tensor(4)
        if content != "off":
            noise["digest"] = scaled["digest"] = f"{step:016x}" if content == "full" else "00000000000000aa"
        t.op("torch.draw", at="train.py:20", value=noise)
        if operators:
            t.op(MUL, role="operator", at="train.py:21", value=scaled, self=noise, args={"other": 2})
        t.op("torch.use", at="train.py:22", args={"x": scaled if operators else noise})
        if looks:
            t.op(LOOK, at="train.py:23", args={"x": noise})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_longer(folder):
    train(folder, steps=7)


def fine_without_operators(folder):
    train(folder, operators=False)


def fine_with_less_content(folder):
    train(folder, content="batches")


def fine_without_content(folder):
    train(folder, operators=False, content="off")


def broken(folder):
    train(folder, operators=False, looks=False)
