# SPDX-License-Identifier: Apache-2.0
"""With several pipelines an order is a rule once seven of them follow it."""
from trace_writer import Trace

PIPELINES = 6


def healthy(folder, i):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.all_reduce()
    t.forward(model)
    t.step(optimizer)
    t.cut()
    t.end()
