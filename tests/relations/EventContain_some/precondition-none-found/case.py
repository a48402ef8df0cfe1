# SPDX-License-Identifier: Apache-2.0
"""It held and broke in equal situations: dropped, with the place where it broke."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.train_step(model, optimizer, changes=[] if i == 2 else None)
    t.end()
