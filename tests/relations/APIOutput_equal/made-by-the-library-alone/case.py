# SPDX-License-Identifier: Apache-2.0
"""A call that only a layer makes says nothing that the layer does not; a statement about the mode stays."""
from trace_writer import Trace


def healthy(folder):
    t = Trace(folder)
    t.ctx = {"autocast": {"cuda": "bfloat16"}}
    for _ in range(3):
        t.enter("torch.nn.Linear.forward", role="layer", args={"input": t.tensor(8, 4)},
                self={"object": "torch.nn.Linear", "id": 7, "attrs": {"training": True}})
        t.op("torch.nn.functional.linear", args={"input": t.tensor(8, 4)}, value=t.tensor(8, 2, dtype="bfloat16"))
        t.leave(value=t.tensor(8, 2, dtype="bfloat16"))
    t.end()
