# SPDX-License-Identifier: Apache-2.0
"""With --keep-implied the dimensions of equal shapes are said too."""
from trace_writer import Trace

OPTIONS = ["--keep-implied"]


def healthy(folder):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.add", args={"input": t.tensor(8, 4), "other": t.tensor(8, 4)})
    t.end()
