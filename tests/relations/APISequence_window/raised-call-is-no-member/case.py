# SPDX-License-Identifier: Apache-2.0
"""A clipping that raised and was tried again stands where it succeeded."""
from trace_writer import Trace


def train(folder, raises, retries):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(5):
        if i == 2 and raises:
            t.enter("torch.nn.utils.clip_grad_norm_", at="train.py:9")
            t.throw("RuntimeError")
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if i != 2 or retries:
            t.clip()
        t.step(optimizer, changes=[])
        t.cut()
    t.end()


def healthy(folder):
    train(folder, raises=True, retries=True)


def broken(folder):
    train(folder, raises=True, retries=False)
