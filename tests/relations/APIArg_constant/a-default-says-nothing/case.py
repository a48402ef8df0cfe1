# SPDX-License-Identifier: Apache-2.0
"""dim was always -1: given so once, it is a choice; at the signature's default in every call, it is none."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    for fn, defaults in (("torch.cumsum", {}), ("torch.glu", {"dim": -1}), ("torch.unbind", {"dim": 0})):
        t.declared.add(fn)
        t.write({"type": "api", "fn": fn, "role": "function", "defaults": defaults})
        for _ in range(3):
            t.op(fn, args={"input": t.tensor(8, 10), "dim": -1})
    t.end()
