# SPDX-License-Identifier: Apache-2.0
"""keepdim follows from the place of the call, and a place is no mode: it is the user's choice."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    for i in range(6):
        t.enter("torch.outer_one" if i % 2 else "torch.outer_two")
        t.op("torch.amax", args={"keepdim": bool(i % 2)})
        t.leave()
    t.end()
