# SPDX-License-Identifier: Apache-2.0
"""Each of two ranks holds a part of all weights and clips its gradient by hand. In the broken run the factor is that of the own part. Right are one factor for
all, nothing to clip, whole models that go their own ways, and a factor that differs twice."""
from trace_writer import Trace

RULE = True


def rank(folder, number, factors, sharded=True):
    t = Trace(folder, rank=number, world=2, pid=number + 1, content="batches", operators=True)
    model = t.net("w", **({"sharded": True, "part": [number]} if sharded else {}))
    optimizer = t.optimizer(model)
    for factor in factors:
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        grad = t.tensor(40) | {"requires_grad": False}
        t.op("torch.Tensor.mul_", role="operator", at="train.py:12", self=grad, value=grad,
             args={"other": t.tensor() | {"requires_grad": False, "value": factor}})
        t.step(optimizer)
        t.cut()
    t.end()


def ranks(folder, first, second, **how):
    rank(folder, 0, first, **how)
    rank(folder, 1, second, **how)


def fine(folder):
    ranks(folder, [0.5] * 6, [0.5] * 6)


def fine_nothing_to_clip(folder):
    ranks(folder, [1.0] * 6, [1.0] * 6)


def fine_whole_models(folder):
    ranks(folder, [0.5] * 6, [0.7] * 6, sharded=False)


def fine_twice(folder):
    ranks(folder, [0.5] * 6, [0.7, 0.7, 0.5] * 2)


def broken(folder):
    ranks(folder, [0.5] * 6, [0.7] * 6)
