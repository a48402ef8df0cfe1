# SPDX-License-Identifier: Apache-2.0
"""Ratios are multiplied by beta, and their difference by the same number in another line. Right are one line that does it twice, another number, a function
in between, and a state that a short time moves, which only a part of has been multiplied by."""
from trace_writer import Trace

RULE = True


def operate(t, fn, own, value, at, **args):
    value["requires_grad"] = own["requires_grad"] = True
    t.op(f"torch.Tensor.{fn}", role="operator", at=at, self=own, value=value, args=args)
    return value


def train(folder, first=0.3, second=0.3, line=14, function=False, state=False, steps=5):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(steps):
        t.zero_grad(optimizer)
        scaled = operate(t, "mul", t.tensor(24), t.tensor(24), "train.py:12", other=first)
        chosen, rejected = (operate(t, "__getitem__", scaled, t.tensor(12), "train.py:13", index=i) for i in (0, 1))
        other = t.tensor(12) | {"requires_grad": True} if state else rejected
        margin = operate(t, "sub", chosen, t.tensor(12), "train.py:13", other=other)
        if function:
            margin = operate(t, "tanh", margin, t.tensor(12), "train.py:13")
        operate(t, "mul", margin, t.tensor(12), f"train.py:{line}", other=second)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, second=0.2)


def fine_one_line(folder):
    train(folder, line=12)


def fine_function(folder):
    train(folder, function=True)


def fine_state(folder):
    train(folder, state=True)


def fine_halves(folder):
    train(folder, first=0.5, second=0.5)


def broken(folder):
    train(folder)
