# SPDX-License-Identifier: Apache-2.0
"""Half of a second term is added to a loss, and a third one in the same line. In the broken run it is computed from stored values, which have no graph. Right are a term with a gradient, one that
has none at first, a term that is added as it is, one that is always the same, and a sum that is not propagated."""
from trace_writer import Trace

RULE = True


def number(t, value, grad=True):
    return t.tensor() | {"requires_grad": grad, "value": value}


def train(folder, grad=False, weight=0.5, same=False, thaws=None, propagated=True, steps=12):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        t.forward(model)
        with_grad = grad or (thaws is not None and step >= thaws)
        value = 2.0 if same else 2.0 + step
        loss, term = number(t, 1.0), number(t, value, with_grad)
        for made in (loss, term):
            t.op("torch.Tensor.mean", role="operator", at="train.py:11", self=t.tensor(8), value=made)
        if weight:
            plain, term = term, number(t, value * weight, with_grad)
            t.op("torch.Tensor.__rmul__", role="operator", at="train.py:12", self=plain, args={"other": weight}, value=term)
        total = number(t, 1.0 + term["value"])
        t.op("torch.Tensor.__add__", role="operator", at="train.py:12", self=loss, args={"other": term}, value=total)
        third, whole = number(t, 0.1), number(t, 1.1 + term["value"])
        t.op("torch.Tensor.mean", role="operator", at="train.py:11", self=t.tensor(8), value=third)
        t.op("torch.Tensor.__add__", role="operator", at="train.py:12", self=total, args={"other": third}, value=whole)
        t.backward(model, of=whole if propagated else loss)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, grad=True)


def fine_thawed(folder):
    train(folder, thaws=11)


def fine_as_it_is(folder):
    train(folder, weight=None)


def fine_the_same(folder):
    train(folder, same=True)


def fine_told(folder):
    train(folder, propagated=False)


def broken(folder):
    train(folder)
