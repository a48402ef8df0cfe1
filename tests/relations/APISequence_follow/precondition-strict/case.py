# SPDX-License-Identifier: Apache-2.0
"""Only where loading was not strict a second load fills what was left out."""
from trace_writer import Trace

LOAD = "torch.nn.Module.load_state_dict"


def train(folder, head_too=True):
    t = Trace(folder)
    model = t.net("w")
    for strict in (True, False):
        t.call(LOAD, role="load", at="train.py:5", args={"strict": strict})
        if head_too and not strict:
            t.call("torch.nn.Module.load_head", role="load", at="train.py:6")
        t.forward(model)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, head_too=False)
