# SPDX-License-Identifier: Apache-2.0
"""No setting: what varies, a seed, the signature's default, a position, what a library hands on, what torch calls."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def healthy(folder):
    t = Trace(folder)
    for fn, role, defaults in (("torch.usual", "function", {"p": 0.5, "mode": "mean"}), ("torch.seed", "seed", {})):
        t.declared.add(fn)
        t.write({"type": "api", "fn": fn, "role": role, "defaults": defaults})
    for i in range(3):
        t.op("torch.usual", args={"p": 0.5, "mode": "mean"})
        t.op("torch.seed", args={"seed": 7})
        t.op("torch.scale", args={"rate": 0.1 * i, "0": 3, "size": [3, 4], "none": None})
        t.enter("torch.outer", args={"n": 2})
        t.op("torch.inner", args={"k": 5})
        t.leave()
        t.op("torch.made", by="torch", args={"k": 5})
    t.end()
