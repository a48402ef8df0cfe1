# SPDX-License-Identifier: Apache-2.0
"""Four scripts drop inside of a model, and have a loss of classes. In the broken run scores are dropped before the loss. A dropout that drops nothing, as
its chance is zero or the model is in evaluation mode, gives its operand back and has done nothing."""
from trace_writer import Trace

F = "torch.nn.functional."
PIPELINES = 4


def drop(t, x, p, training=True):
    y = x if p == 0 or not training else t.tensor(8, 10) | {"requires_grad": True}
    t.op(F + "dropout", at="train.py:6", args={"input": x, "p": p, "training": training}, value=y)
    return y


def train(folder, last=None, training=True):
    t = Trace(folder)
    for _ in range(3):
        inner = drop(t, t.tensor(8, 10) | {"requires_grad": True}, 0.1)
        scores = t.tensor(8, 10) | {"requires_grad": True}
        t.op(F + "linear", args={"input": inner, "weight": t.tensor(10, 10)}, value=scores)
        if last is not None:
            scores = drop(t, scores, last, training)
        t.op(F + "cross_entropy", at="train.py:8", value=t.tensor() | {"requires_grad": True},
             args={"input": scores, "target": t.tensor(8, dtype="int64")})
    t.end()


def healthy(folder, i):
    train(folder)


def fine_of_nothing(folder):
    train(folder, last=0.0)


def fine_in_evaluation(folder):
    train(folder, last=0.1, training=False)


def broken(folder):
    train(folder, last=0.1)
