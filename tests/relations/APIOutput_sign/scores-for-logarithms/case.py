# SPDX-License-Identifier: Apache-2.0
"""Four scripts have a loss that is given logarithms of probabilities; in the broken run it is given scores. What rounding leaves, two numbers below
zero, another way of reduction, and what takes no gradient say nothing. A loss of densities is met with both signs, and none is claimed of it. Nothing is said of a divergence."""
from trace_writer import Trace

F = "torch.nn.functional."
PIPELINES = 4


def loss(t, name, value, trains=True, shape=(), **more):
    x = t.tensor(8, 10) | {"requires_grad": trains}
    t.op(F + name, at="train.py:8", args={"input": x, "target": t.tensor(8, dtype="int64"), "reduction": "none" if shape else "mean", **more},
         value=t.tensor(*shape) | {"requires_grad": trains, **({} if shape else {"value": value})})


def train(folder, values=(2.5, 1.5, 0.5), **how):
    t = Trace(folder)
    for value in values:
        loss(t, "nll_loss", value, **how)
        loss(t, "gaussian_nll_loss", -value)
        loss(t, "kl_div", value, log_target=False)
    t.end()


def healthy(folder, i):
    train(folder)


def fine_with_rounding(folder):
    train(folder, values=(-1e-7, 0.0, -1e-6))


def fine_twice(folder):
    train(folder, values=(-0.5, 0.25, -0.5, 0.5))


def fine_that_is_told(folder):
    train(folder, values=(-2.5, -1.5, -0.5), trains=False)


def fine_of_each(folder):
    train(folder, values=(-2.5, -1.5, -0.5), shape=(8,))


def broken(folder):
    train(folder, values=(-2.5, -1.5, -0.5, -3.5))
