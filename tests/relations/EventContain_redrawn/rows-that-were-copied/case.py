# SPDX-License-Identifier: Apache-2.0
"""A weight of a larger vocabulary takes over the rows of the old one. In the broken run all of it is drawn again before it is used. Right are rows that are
used, a weight that is drawn first, another weight, a row of zeros, and a weight that is drawn anew once it was used."""
from trace_writer import Trace

RULE = True


def grow(folder, draws_before=False, draws_after=False, of=None, uses_between=False, rows=(8, 4), constant=None):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    weight = t.tensor(12, 4, id=900) | {"tensor": "Parameter"}
    other = t.tensor(12, 4, id=901) | {"tensor": "Parameter"}

    def draw(what):
        t.op("torch.nn.init.normal_", role="init", at="train.py:9", args={"tensor": what}, value=what)

    if draws_before:
        draw(weight)
    value = t.tensor(*rows) | ({"constant": constant} if constant is not None else {})
    t.op("torch.Tensor.__setitem__", role="operator", at="train.py:20", self=weight, args={"indices": [], "value": value})
    if uses_between:
        t.forward(model)
    if draws_after:
        draw(other if of else weight)
    t.train_step(model, optimizer)
    t.end()


def fine(folder):
    grow(folder, draws_before=True)


def fine_another(folder):
    grow(folder, draws_after=True, of=True)


def fine_used(folder):
    grow(folder, draws_after=True, uses_between=True)


def fine_zeros(folder):
    grow(folder, draws_after=True, constant=0)


def fine_one_row(folder):
    grow(folder, draws_after=True, rows=(4,))


def broken(folder):
    grow(folder, draws_after=True)
