# SPDX-License-Identifier: Apache-2.0
"""As many targets as inputs; a target that lost half of its batch is reported."""
from trace_writer import Trace

LOSS = "torch.nn.functional.cross_entropy"


def train(folder, batch, targets, classes=10):
    t = Trace(folder)
    for _ in range(4):
        t.op(LOSS, at="train.py:40", args={"input": t.tensor(batch, classes), "target": t.tensor(targets, dtype="int64")})
    t.end()


def healthy(folder):
    train(folder, 8, 8)


def fine(folder):
    train(folder, 32, 32, classes=5)


def broken(folder):
    train(folder, 8, 4)
