# SPDX-License-Identifier: Apache-2.0
"""Four scripts add up two losses, of two views of one batch. In the broken run both are computed of one view, so that the sum holds
one number twice. One loss that is only looked at, two functions of the same tensors, the same tensors with another number, and a function that
draws are right. So is a product."""
from trace_writer import Trace

F = "torch.nn.functional."
PIPELINES = 4


def number(t, value, trains=True):
    return t.tensor() | {"value": value, "requires_grad": trains}


def loss(t, of, target, value, name="cross_entropy", **args):
    y = number(t, value)
    t.op(F + name, at="train.py:7", args={"input": of, "target": target, "reduction": "mean", **args}, value=y)
    return y


def operator(t, name, x, other, value):
    y = number(t, value)
    t.op("torch.Tensor." + name, role="operator", at="train.py:8", self=x, args={"other": other}, value=y)
    return y


def train(folder, views=(0, 1), values=(2.25, 1.75), names=("cross_entropy", "cross_entropy"), args=({}, {}), adds=True):
    t = Trace(folder, operators=True)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.forward(model)
        target = t.tensor(8, dtype="int64")
        view = [t.tensor(8, 8) | {"requires_grad": True} for _ in range(2)]
        terms = [loss(t, view[v], target, x, name, **a) for v, x, name, a in zip(views, values, names, args)]
        total = operator(t, "add", *terms, sum(values)) if adds else operator(t, "mul", *terms, values[0] * values[1])
        half = operator(t, "div", total, 2, total["value"] / 2)
        t.zero_grad(optimizer)
        t.backward(model, of=half)
        t.step(optimizer)
        t.cut("forward")
    t.end()


def healthy(folder, i):
    train(folder)


def fine_of_two_functions(folder):
    train(folder, views=(0, 0), names=("cross_entropy", "multi_margin_loss"))


def fine_with_another_number(folder):
    train(folder, views=(0, 0), values=(2.25, 2.25), args=({"label_smoothing": 0.0}, {"label_smoothing": 0.5}))


def fine_that_draws(folder):
    train(folder, views=(0, 0))


def fine_that_is_a_product(folder):
    train(folder, views=(0, 0), values=(2.25, 2.25), adds=False)


def broken(folder):
    train(folder, views=(0, 0), values=(2.25, 2.25))
