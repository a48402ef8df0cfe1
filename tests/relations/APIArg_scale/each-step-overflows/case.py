# SPDX-License-Identifier: Apache-2.0
"""A scaler finds a scale after a few steps. In the broken run each step overflows and halves it. A scale that begins small, one that falls and grows
again, and a scaler that is switched off are right."""
from trace_writer import Trace

RULE = True


def train(folder, scales, **more):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    scaler = t.settings("scaler", kind="scaler", scale=scales[0], enabled=True, **more)
    for scale in scales:
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.scaler_step(optimizer, skips=True)
        t.adjust(scaler, scale=scale)
        t.cut()
    t.end()


def fine(folder):
    train(folder, [65536.0 / 2 ** i for i in range(12)])


def fine_that_begins_small(folder):
    train(folder, [1.0, 0.5, 0.25])


def fine_that_grows_again(folder):
    train(folder, [4.0, 0.5, 0.0625, 1.0, 8.0])


def fine_that_is_off(folder):
    train(folder, [0.0] * 4)


def broken(folder):
    train(folder, [65536.0 / 4 ** i for i in range(16)])
