# SPDX-License-Identifier: Apache-2.0
"""A flag that one script passes everywhere is its own choice; what follows the mode is not."""
from trace_writer import Trace


def train(folder, drops=False):
    t = Trace(folder)
    for stage, training in (("training", True), ("evaluation", drops)):
        t.stage = stage
        for _ in range(3):
            t.op("torch.nn.functional.dropout", at="train.py:30",
                 args={"input": t.tensor(2), "training": training, "inplace": False})
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, drops=True)
