# SPDX-License-Identifier: Apache-2.0
"""A call that asks the model gives back what the model chose: how its columns look goes with training. What a call without a model
gives back is the script's: in the broken run it is not filled up."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def words(t, last):
    return {**t.tensor(8, 12, dtype="int64"), "summary": {"min": 0, "max": 9, "distinct": 9, "negative": 0, "zero": 8, "one": 9,
                                                          **({} if last is None else {"last": last})}}


def train(folder, chosen, padded=0):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.op("torch.pad", at="train.py:20", value=words(t, padded))
        t.enter("generate", at="train.py:21", self={"object": "__main__.Net", "id": model["id"], "attrs": {"training": False}})
        t.forward(model)
        t.leave(value=words(t, chosen))
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 0)


def healthy_again(folder):
    train(folder, 0)


def fine(folder):
    train(folder, None)


def broken(folder):
    train(folder, None, padded=None)
