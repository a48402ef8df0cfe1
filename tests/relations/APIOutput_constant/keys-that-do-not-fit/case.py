# SPDX-License-Identifier: Apache-2.0
"""Loading a state dict leaves no key over; one load is all that a run has, and enough to learn from."""
from trace_writer import Trace

LOAD = "torch.nn.Module.load_state_dict"


def train(folder, missing=(), unexpected=()):
    t = Trace(folder)
    t.op(LOAD, role="load", at="train.py:5", args={"strict": False},
         value={"dict": {"missing_keys": list(missing), "unexpected_keys": list(unexpected)}})
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, missing=["head.weight"])
