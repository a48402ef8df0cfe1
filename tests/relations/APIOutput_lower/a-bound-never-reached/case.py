# SPDX-License-Identifier: Apache-2.0
"""Every size is at least a stride: that no result comes down to it says that it bounds nothing."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    for n in (8, 9, 1):
        t.op("torch.unfold_copy", args={"step": 1, "size": 2}, value=t.tensor(n + 3))
    t.end()
