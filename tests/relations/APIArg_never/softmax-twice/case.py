# SPDX-License-Identifier: Apache-2.0
"""Four scripts with a softmax in their attention and a loss of classes, which makes a softmax itself. In the broken run the loss is given
what a softmax returned. A loss that fits numbers may be given it; so may a loss that takes no gradient."""
from trace_writer import Trace

F = "torch.nn.functional."
PIPELINES = 4


def softmax(t, x, trains=True):
    y = t.tensor(8, 10) | {"requires_grad": trains}
    t.op(F + "softmax", at="train.py:6", args={"input": x, "dim": -1}, value=y)
    return y


def train(folder, twice=False, fits=False, trains=True):
    t = Trace(folder)
    for _ in range(3):
        inner = softmax(t, t.tensor(8, 10) | {"requires_grad": True})
        scores = t.tensor(8, 10) | {"requires_grad": trains}
        t.op(F + "linear", at="train.py:7", args={"input": inner, "weight": t.tensor(10, 10)}, value=scores)
        if twice:
            scores = softmax(t, scores, trains)
        target = t.tensor(8, 10) if fits else t.tensor(8, dtype="int64")
        name = "mse_loss" if fits else "cross_entropy"
        t.op(F + name, at="train.py:8", args={"input": scores, "target": target}, value=t.tensor() | {"requires_grad": trains})
    t.end()


def healthy(folder, i):
    train(folder)


def fine_that_fits(folder):
    train(folder, twice=True, fits=True)


def fine_that_is_told(folder):
    train(folder, twice=True, trains=False)


def broken(folder):
    train(folder, twice=True)
