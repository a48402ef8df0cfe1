# SPDX-License-Identifier: Apache-2.0
"""Six pipelines that leave a switch in one position prove nothing; a dimension is not chosen from two."""
from trace_writer import Trace

PIPELINES = 6


def healthy(folder, i):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.amax", args={"input": t.tensor(4, 3 + i), "dim": 1, "keepdim": False})
    t.end()
