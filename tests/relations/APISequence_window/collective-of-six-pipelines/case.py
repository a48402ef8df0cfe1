# SPDX-License-Identifier: Apache-2.0
"""Where the gradients are reduced depends on each script: six that agree are too few."""
from trace_writer import Trace

PIPELINES = 6


def healthy(folder, i):
    t = Trace(folder, rank=0, world=2)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.all_reduce()
        t.step(optimizer)
        t.cut()
    t.end()
