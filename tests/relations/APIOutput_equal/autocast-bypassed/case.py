# SPDX-License-Identifier: Apache-2.0
"""Under autocast a product has the dtype of autocast."""
from trace_writer import Trace


def train(folder, bypassed=False):
    t = Trace(folder)
    t.ctx = {"autocast": {"cuda": "bfloat16"}}
    for _ in range(3):
        t.op("torch.mm", at="train.py:9", args={"input": t.tensor(8, 4)},
             value=t.tensor(8, 2, dtype="float32" if bypassed else "bfloat16"))
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, bypassed=True)
