# SPDX-License-Identifier: Apache-2.0
"""A loss has an operand with a gradient, whichever it is, and not only such; where gradients are off nothing is asked."""
from trace_writer import Trace

PIPELINES = 7


def train(folder, *pairs):
    """pairs: which of input and target requires a gradient, in turn."""
    t = Trace(folder)
    t.stage = "training"
    for line, pair in enumerate(pairs * 3, 1):
        for t.ctx in (None, {"grad": False}):
            asks = [a and not t.ctx for a in pair]
            operands = {k: {**t.tensor(4, 3), "requires_grad": a} for k, a in zip(("input", "target"), asks)}
            at = f"train.py:{line}"
            t.op("torch.nn.functional.mse_loss", args=operands, value=t.tensor(), at=at)
            t.op("torch.nn.functional.pairwise", args=operands, value=t.tensor(4), at=at)  # a number each: not read
    t.end()


def healthy(folder, i):
    train(folder, (i != 3, i == 3))


def broken(folder):
    train(folder, (False, False), (True, True))
