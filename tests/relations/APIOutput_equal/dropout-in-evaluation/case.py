# SPDX-License-Identifier: Apache-2.0
"""In evaluation a dropout returns its input; in training it must not be held to that."""
from trace_writer import Trace

DROPOUT = "torch.nn.Dropout.forward"


def train(folder, always_on=False):
    t = Trace(folder)
    for stage in ("training", "evaluation"):
        t.stage = stage
        for _ in range(4):
            is_on = always_on or stage == "training"
            t.op(DROPOUT, role="layer", at="train.py:8", args={"input": t.tensor(8, 4)}, value=t.tensor(8, 4),
                 same=[] if is_on else ["args.input"],
                 self={"object": "torch.nn.Dropout", "id": 7, "attrs": {"training": stage == "training"}})
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, always_on=True)
