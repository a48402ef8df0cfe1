# SPDX-License-Identifier: Apache-2.0
"""One weight becomes bfloat16 in step 2 and stays so."""
from trace_writer import Trace


def train(folder, half_from=None):
    t = Trace(folder)
    model = t.net("w", "b", buffers=["running_mean", "running_var"])
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        if i == half_from:
            t.set(model.var("w"), dtype="bfloat16")
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, half_from=2)
