# SPDX-License-Identifier: Apache-2.0
"""What varies is stated under the mode that explains it."""
from trace_writer import Trace


def train(folder, swapped=False):
    t = Trace(folder)
    for stage in ("training", "evaluation"):
        t.stage = stage
        for _ in range(3):
            t.op("torch.is_grad_enabled", at="train.py:7", value=(stage == "training") != swapped)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, swapped=True)
