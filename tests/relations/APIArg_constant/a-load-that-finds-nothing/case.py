# SPDX-License-Identifier: Apache-2.0
"""A state dict of which a part is unknown is loaded in part. In the broken run all of its names have a prefix that the module's lack: nothing
is loaded. Where a list is cut nothing is said."""
from trace_writer import Trace

LOAD = "torch.nn.Module.load_state_dict"
PIPELINES = 4


def load(folder, given, missing, unexpected):
    t = Trace(folder)
    state = {name: t.tensor(4, 4) for name in given}
    t.op(LOAD, role="load", at="train.py:5", args={"state_dict": {"dict": state}, "strict": False}, value=[missing, unexpected])
    t.end()


def healthy(folder, i):
    load(folder, ["fc.weight", "head.weight"], ["head.bias"] * (i > 1), ["head.weight"] * (i % 2))


def fine_cut(folder):
    load(folder, ["a", "b"], ["c"], ["a", {"more": 1}])


def fine_nothing_missing(folder):
    load(folder, ["old.buffer"], [], ["old.buffer"])


def broken(folder):
    load(folder, ["module.fc.weight", "module.head.weight"], ["fc.weight", "head.weight"], ["module.fc.weight", "module.head.weight"])
