# SPDX-License-Identifier: Apache-2.0
"""A scaler's step unscales what the script has not. In the broken run gradients are clipped before that, and nowhere else."""
from trace_writer import Trace


def train(folder, unscales, clips=True):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if unscales:
            t.unscale()
        if clips:
            t.clip()
        t.enter("torch.amp.GradScaler.step", at="train.py:16")
        if not unscales:
            t.unscale()
        t.step(optimizer)
        t.leave()
        t.cut()
    t.end()


def healthy(folder):
    train(folder, True)


def fine_without_a_clipping(folder):
    train(folder, False, clips=False)


def broken(folder):
    train(folder, False)
