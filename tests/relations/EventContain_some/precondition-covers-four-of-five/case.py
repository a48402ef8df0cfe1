# SPDX-License-Identifier: Apache-2.0
"""It held in five pipelines; the precondition is true somewhere in four of them, which is 80 %."""
from trace_writer import Trace

PIPELINES = 5


def healthy(folder, i):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for k in range(9):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if k >= 4 and i < 4:
            t.unscale()
        t.step(optimizer, changes=[] if k == 2 else None)
        t.cut()
    t.end()
