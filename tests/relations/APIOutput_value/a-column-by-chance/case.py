# SPDX-License-Identifier: Apache-2.0
"""Eight rows are drawn of which most elements are true: now and then a column shows them alone, and short rows of one step reach none of the last
places. The rows of a picture are alike: of four pictures of eight rows now and then all begin with true. In the broken run a column is true, and true is rare."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def mask(t, is_first, n_true):
    return {**t.tensor(8, 16, dtype="bool"), "summary": {"true": n_true, "false": 128 - n_true, **({"first": True} if is_first else {})}}


def pictures(t, is_first):
    return {**t.tensor(4, 1, 8, 8, dtype="bool"), "summary": {"true": 154, "false": 102, **({"first": True} if is_first else {})}}


def words(t, fills):
    return {**t.tensor(8, 16, dtype="int64"), "summary": {"min": 0, "max": 9, "distinct": 9, "negative": 0, "zero": 40, "one": 9,
                                                          **({"last": 0} if fills else {})}}


def train(folder, columns, n_true=102, fills=()):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i, is_first in enumerate(columns):
        t.op("torch.lt", at="train.py:20", value=mask(t, is_first, n_true))
        t.op("torch.gt", at="train.py:22", value=pictures(t, is_first))
        t.op("torch.pad", at="train.py:21", value=words(t, i in fills))
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, (False,) * 6)


def healthy_again(folder):
    train(folder, (False,) * 6)


def fine(folder):
    train(folder, (False, True, False, False), fills=(1,))


def broken(folder):
    train(folder, (True, True, True), n_true=12)
