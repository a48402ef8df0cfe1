# SPDX-License-Identifier: Apache-2.0
"""A loss of which one operand alone takes a gradient, in four scripts. In the broken run its target does, too: it is not detached."""
from trace_writer import Trace

PIPELINES = 4


def train(folder, trains=False):
    t = Trace(folder)
    for _ in range(3):
        x, y = t.tensor(8, 2) | {"requires_grad": True}, t.tensor(8, 2) | {"requires_grad": trains}
        t.op("torch.nn.functional.mse_loss", at="train.py:8", args={"input": x, "target": y}, value=t.tensor())
    t.end()


def healthy(folder, i):
    train(folder)


def broken(folder):
    train(folder, trains=True)
