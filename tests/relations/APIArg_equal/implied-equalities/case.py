# SPDX-License-Identifier: Apache-2.0
"""Equal shapes imply their dimensions; of three equal shapes, and of three equal dtypes, two equalities are enough."""
from trace_writer import Trace


def train(folder, dtype="float32"):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.addcmul", at="train.py:41",
             args={"input": t.tensor(8, 4), "tensor1": t.tensor(8, 4), "tensor2": t.tensor(8, 4, dtype=dtype)})
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, dtype="float64")
