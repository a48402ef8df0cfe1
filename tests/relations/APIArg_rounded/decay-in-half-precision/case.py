# SPDX-License-Identifier: Apache-2.0
"""A weight is multiplied by one less a small number. In the broken runs it is in half precision, which takes that for one. Right are float32, a number that
bfloat16 resolves, what is added, a factor of one, and two such products alone."""
from trace_writer import Trace

RULE = True


def train(folder, factor=0.999, dtype="bfloat16", steps=4, added=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    weight = t.tensor(8, 8, dtype=dtype)
    for _ in range(steps):
        t.op("torch.Tensor.add_" if added else "torch.Tensor.mul_", role="operator", at="train.py:30", self=weight,
             args={"other": factor} | ({"alpha": 1} if added else {}), value=weight)
        t.train_step(model, optimizer)
    t.end()


def fine_float32(folder):
    train(folder, dtype="float32")


def fine_resolved(folder):
    train(folder, factor=0.99)


def fine_added(folder):
    train(folder, added=True)


def fine_one(folder):
    train(folder, factor=1)


def fine_float16(folder):
    train(folder, dtype="float16")


def fine_twice(folder):
    train(folder, steps=2)


def broken(folder):
    train(folder)


def broken_float16(folder):
    train(folder, factor=0.9999, dtype="float16")
