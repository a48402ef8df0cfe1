# SPDX-License-Identifier: Apache-2.0
"""The norm that a clipping takes of gradients may be infinite, as a scaler is there for; elsewhere it may not."""
from trace_writer import Trace

NORM = "torch.linalg.vector_norm"


def train(folder, clipped=(), plain=()):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(5):
        t.op(NORM, at="train.py:11", value=t.tensor(), finite=i not in plain)
        t.forward(model)
        t.backward(model)
        t.enter("torch.nn.utils.clip_grad_norm_", at="train.py:15")
        t.op(NORM, value=t.tensor(), finite=i not in clipped)
        t.leave()
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, clipped=[3])


def broken(folder):
    train(folder, plain=[3])
