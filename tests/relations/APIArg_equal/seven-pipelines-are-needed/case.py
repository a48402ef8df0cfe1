# SPDX-License-Identifier: Apache-2.0
"""Six pipelines whose operands agree in size are a coincidence yet."""
from trace_writer import Trace

PIPELINES = 6


def healthy(folder, i):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.matmul", args={"input": t.tensor(8, 4), "other": t.tensor(8)})
    t.end()
