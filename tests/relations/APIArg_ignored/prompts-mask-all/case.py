# SPDX-License-Identifier: Apache-2.0
"""A template marks prompts. In the broken run it marks each row as a whole, so that all labels are ignored. A batch or two that have nothing to
learn, a loss that is only logged, another number to ignore and a loss of each place say nothing."""
from trace_writer import Trace

RULE = True
LABELS = {"min": -100, "max": 17, "negative": 20, "zero": 0, "one": 3}
EMPTY = {"min": -100, "max": -100, "distinct": 1, "negative": 32, "zero": 0, "one": 0}


def train(folder, rows=(LABELS,) * 6, trains=True, ignored=-100, shape=()):
    t = Trace(folder, content="batches")
    for summary in rows:
        t.op("torch.nn.functional.cross_entropy", at="train.py:8", value=t.tensor(*shape) | {"requires_grad": trains},
             args={"input": t.tensor(32, 18) | {"requires_grad": trains}, "ignore_index": ignored, "reduction": "mean",
                   "target": t.tensor(32, dtype="int64") | {"summary": summary}})
    t.end()


def fine(folder):
    train(folder)


def fine_twice(folder):
    train(folder, rows=(LABELS, EMPTY, EMPTY, LABELS, EMPTY, LABELS))


def fine_that_is_told(folder):
    train(folder, rows=(EMPTY,) * 6, trains=False)


def fine_of_another_number(folder):
    train(folder, rows=(EMPTY,) * 6, ignored=0)


def fine_of_each_place(folder):
    train(folder, rows=(EMPTY,) * 6, shape=(32,))


def broken(folder):
    train(folder, rows=(LABELS, *(EMPTY,) * 5))
