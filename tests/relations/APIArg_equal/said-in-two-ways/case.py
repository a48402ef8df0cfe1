# SPDX-License-Identifier: Apache-2.0
"""That a switch is on where the mode of its module is on, is what their equality says; equal dtypes under one precondition and without one form one class."""
from trace_writer import Trace

OPTIONS = ["--enable-relation", "APIArg/constant"]


def linear(t, autocast):
    args = {name: t.tensor(4, dtype="float32") for name in ("input", "weight", "bias")}
    if autocast:
        args["input"]["dtype"] = "bfloat16"
    t.op("torch.nn.functional.linear", at="train.py:30", args=args, ctx={"autocast": {"cpu": "bfloat16"}} if autocast else None)


def healthy(folder):
    t = Trace(folder)
    model = t.net("w")
    for training in (True, False) * 3:
        t.enter("torch.nn.Module.__call__", at="train.py:11",
                self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": training}})
        t.op("torch.nn.functional.dropout", args={"input": t.tensor(4, 8), "training": training})
        t.leave()
        linear(t, autocast=training)
    t.end()
