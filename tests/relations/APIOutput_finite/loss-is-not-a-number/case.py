# SPDX-License-Identifier: Apache-2.0
"""The receiver of a backward, and a result, hold no NaN; where the question was not asked nothing is said."""
from trace_writer import Trace


def train(folder, nan_from=99, asked=True):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(5):
        t.op("torch.nn.functional.cross_entropy", at="train.py:11", value=t.tensor(), finite=i < nan_from if asked else None)
        t.enter("torch.Tensor.backward", at="train.py:12", self=t.tensor())
        t.leave(finite=i < nan_from if asked else None)
        t.step(optimizer, changes=model.parameters)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, asked=False)


def broken(folder):
    train(folder, nan_from=3)
