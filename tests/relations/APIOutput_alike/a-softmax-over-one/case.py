# SPDX-License-Identifier: Apache-2.0
"""Weights are made by a softmax over several numbers. In the broken run it is over one. Rows of which some have one element, scores that take no
gradient, and a mask of equal scores are right, and a few calls say nothing."""
from trace_writer import Trace

RULE = True


def run(folder, columns, grad=True, n=12, given=None):
    t = Trace(folder, content="batches")
    for i in range(n):
        size = columns[i % len(columns)]
        x = t.tensor(8, size) | {"requires_grad": grad} | ({"constant": given} if given is not None else {})
        y = t.tensor(8, size) | {"requires_grad": grad} | ({"constant": 1.0 / size} if size == 1 or given is not None else {})
        t.op("torch.nn.functional.softmax", at="model.py:9", args={"input": x, "dim": -1}, value=y)
    t.end()


def fine(folder):
    run(folder, [4])


def fine_of_some_rows(folder):
    run(folder, [4, 1, 1, 1])


def fine_without_gradients(folder):
    run(folder, [1], grad=False)


def fine_of_equal_scores(folder):
    run(folder, [4], given=0.0)


def fine_of_few_calls(folder):
    run(folder, [1], n=9)


def broken(folder):
    run(folder, [1])
