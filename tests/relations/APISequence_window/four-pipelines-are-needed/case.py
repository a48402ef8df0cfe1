# SPDX-License-Identifier: Apache-2.0
"""Where several pipelines are given, three that agree are too few."""
from trace_writer import Trace

PIPELINES = 3


def healthy(folder, i):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.train_step(model, optimizer)
    t.end()
