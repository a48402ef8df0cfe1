# SPDX-License-Identifier: Apache-2.0
"""Settings are facts of one script: nothing is said of them without --specific."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.scale", args={"rate": 0.5, "name": "relu"})
    t.end()
