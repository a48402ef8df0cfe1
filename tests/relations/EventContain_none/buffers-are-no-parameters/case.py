# SPDX-License-Identifier: Apache-2.0
"""Running statistics may change in a forward; it is the weights that may not."""
from trace_writer import Trace


def train(folder, buffer_changes):
    t = Trace(folder)
    model = t.net("w", buffers=["running_mean"])
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.forward(model, ["running_mean"] if buffer_changes else ())
        t.step(optimizer, changes=model.parameters)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, buffer_changes=False)


def fine(folder):
    train(folder, buffer_changes=True)
