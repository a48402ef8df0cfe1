# SPDX-License-Identifier: Apache-2.0
"""Two steps are no evidence, three are."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(3):
        t.forward(model)
        t.backward(model, reaches=model.parameters if i < 2 else [])
        t.step(optimizer)
        if i < 2:
            t.zero_grad(optimizer)
        t.cut()
    t.end()
