# SPDX-License-Identifier: Apache-2.0
"""From step 6 on clipping is missing: the first step, the count and no other step."""
from trace_writer import Trace


def train(folder, clips):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(10):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if i < clips:
            t.clip()
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, clips=10)


def broken(folder):
    train(folder, clips=6)
