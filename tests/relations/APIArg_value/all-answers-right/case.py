# SPDX-License-Identifier: Apache-2.0
"""Whether what a model chooses is right in all of a batch is a matter of how well it has learned, and so are the numbers that are made of its
choices alone. That labels are compared with themselves, where they were not, is none; nor that a ratio of what models compute is always one."""
from trace_writer import FORWARD, Trace

OPTIONS = ["--specific"]


def whole(t):
    return t.tensor(40, dtype="int64") | {"summary": {"min": 0, "max": 9, "distinct": 10, "negative": 0, "zero": 4, "one": 4}}


def numbers(t, are_alike):
    return t.tensor(40) | ({"constant": 1.0} if are_alike else {})


def train(folder, right=(), same=False):
    t = Trace(folder, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(6):
        labels, target, logits, answer = whole(t), whole(t), t.tensor(40, 10), whole(t)
        t.op(FORWARD, at="train.py:20", ctx={"grad": False}, value=logits,
             self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": False}})
        t.op("torch.argmax", at="train.py:21", args={"input": logits, "dim": 1}, value=answer)
        hits = t.tensor(40, dtype="bool") | {"summary": {"true": 40 if i in right else 30, "false": 0 if i in right else 10}}
        t.op("torch.eq", at="train.py:22", args={"input": answer, "other": labels}, equal=[["input", "other"]] if i in right else None, value=hits)
        share = numbers(t, i in right)
        t.op("torch.float", at="train.py:24", args={"input": hits}, value=share)
        t.op("torch.mean", at="train.py:25", args={"input": share}, value=t.tensor())
        t.op("torch.exp", at="train.py:26", args={"input": logits}, value=numbers(t, same))
        t.op("torch.ne", at="train.py:23", args={"input": labels, "other": target}, equal=[["input", "other"]] if same else None,
             value=t.tensor(40, dtype="bool"))
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, right=range(6))


def broken(folder):
    train(folder, same=True)
