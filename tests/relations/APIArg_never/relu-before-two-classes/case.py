# SPDX-License-Identifier: Apache-2.0
"""Four scripts have a loss of two classes that is given scores, and a ReLU within. In the broken run the scores come from a ReLU, so that none is
below zero. A loss without such a weight fits numbers, and may be given them."""
from trace_writer import Trace

F = "torch.nn.functional."
PIPELINES = 4


def one(t, name, x):
    y = t.tensor(8) | {"requires_grad": True}
    t.op(F + name, at="train.py:6", args={"input": x}, value=y)
    return y


def train(folder, last="linear", fits=False):
    t = Trace(folder)
    for _ in range(3):
        inner = one(t, "relu", t.tensor(8) | {"requires_grad": True})
        scores = one(t, last, inner)
        args = {"input": scores, "target": t.tensor(8), "reduction": "mean"} | ({} if fits else {"pos_weight": None})
        t.op(F + ("mse_loss" if fits else "binary_cross_entropy_with_logits"), at="train.py:8", args=args,
             value=t.tensor() | {"requires_grad": True})
    t.end()


def healthy(folder, i):
    train(folder)


def fine_that_fits(folder):
    train(folder, last="relu", fits=True)


def broken(folder):
    train(folder, last="relu")
