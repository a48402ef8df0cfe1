# SPDX-License-Identifier: Apache-2.0
"""What names a dimension, is zero, or has no name bounds nothing; a bound that was exceeded once is none."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    for n in (3, 3, 3, 9):
        t.op("train.roll", role="method", args={"dim": 10, "shift": 0, "2": 10, "count": 5}, value=t.tensor(n))
    t.end()
