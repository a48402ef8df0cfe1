# SPDX-License-Identifier: Apache-2.0
"""A line computes a sum of losses. In the broken run its function reads it nowhere. Right are a sum that is read, another line that nobody reads, a line of plain
numbers, two steps, and a source that nobody has read."""
from trace_writer import Trace

RULE = True


def train(folder, line=20, steps=4, told=True, tensors=True):
    t = Trace(folder, operators=True)
    if told:
        t.write({"type": "source", "at": "train.py", "digest": "00000000000000aa", "text": "pass\n", "unread": {f"train.py:{line}": {"=": "total"}}})
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(steps):
        t.op("torch.Tensor.add", role="operator", at="train.py:20", self=t.tensor() if tensors else None, args={"other": t.tensor() if tensors else 1},
             value=t.tensor())
        t.train_step(model, optimizer)
    t.end()


def fine(folder):
    train(folder, line=99)


def fine_numbers(folder):
    train(folder, tensors=False)


def fine_twice(folder):
    train(folder, steps=2)


def fine_untold(folder):
    train(folder, told=False)


def broken(folder):
    train(folder)
