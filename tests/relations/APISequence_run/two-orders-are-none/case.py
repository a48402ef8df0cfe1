# SPDX-License-Identifier: Apache-2.0
"""What one pipeline of nine does after the loop has begun, or not at all, is no rule."""
from trace_writer import Trace

PIPELINES = 9


def healthy(folder, i):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    if i:
        t.all_reduce()
    t.call("torch.distributed.broadcast", role="collective")
    t.forward(model)
    if not i:
        t.all_reduce()
    t.step(optimizer)
    t.cut()
    t.end()
