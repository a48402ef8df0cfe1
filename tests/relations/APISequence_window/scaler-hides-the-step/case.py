# SPDX-License-Identifier: Apache-2.0
"""Called by a scaler, the step is still a member, and so is the scaler."""
from trace_writer import Trace


def train(folder, scaler_before_backward=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        if scaler_before_backward:
            t.scaler_step(optimizer)
        t.backward(model)
        if not scaler_before_backward:
            t.scaler_step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, scaler_before_backward=True)
