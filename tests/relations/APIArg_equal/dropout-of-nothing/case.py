# SPDX-License-Identifier: Apache-2.0
"""A functional dropout whose mode stays on in evaluation, where its probability is zero: it changes nothing. Then it is not zero."""
from trace_writer import FORWARD, Trace

DROPOUT = "torch.nn.functional.dropout"


def train(folder, always_on=False, p=0.5):
    t = Trace(folder)
    model = t.net("w")
    for training in (True, True, False, False):
        t.stage = "training" if training else "evaluation"
        t.enter(FORWARD, at="train.py:50", self={"object": "__main__.Net", "id": model["id"], "role": "root",
                                                 "attrs": {"training": training}})
        t.op(DROPOUT, args={"input": t.tensor(8, 4), "p": 0.5 if training else p, "training": training or always_on})
        t.leave()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, always_on=True, p=0)
