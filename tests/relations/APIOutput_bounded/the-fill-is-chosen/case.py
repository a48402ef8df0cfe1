# SPDX-License-Identifier: Apache-2.0
"""Distances to oneself are filled with infinity, and the nearest other one is taken. In the broken run it is the farthest, which is the fill. Distances
that are all the same, a result that takes no gradient, a batch of one, and two such batches among others are right."""
from trace_writer import Trace

RULE = True
INFINITY = {"float": "inf"}


def run(folder, constants, grad=True, size=12):
    t = Trace(folder, content="batches", operators=True)
    for constant in constants:
        distances = t.tensor(size, size) | {"requires_grad": grad}
        nearest = t.tensor(size) | {"requires_grad": grad} | ({"constant": constant} if constant is not None else {})
        t.op("torch.Tensor.max", role="operator", at="train.py:64", self=distances, args={"dim": 1},
             value=[nearest, t.tensor(size, dtype="int64")])
    t.end()


def fine(folder):
    run(folder, [None] * 6)


def fine_of_one_number(folder):
    run(folder, [1.0] * 6)


def fine_without_gradients(folder):
    run(folder, [INFINITY] * 6, grad=False)


def fine_of_one(folder):
    run(folder, [INFINITY] * 6, size=1)


def fine_now_and_then(folder):
    run(folder, [INFINITY, INFINITY, 1.0] * 3)


def broken(folder):
    run(folder, [INFINITY] * 6)
