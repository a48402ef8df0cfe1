# SPDX-License-Identifier: Apache-2.0
"""A function is given an object of the script whose method steps an optimizer, and never reads it. Right are one that is read, one whose method steps none, and the
optimizer of another class."""
from trace_writer import Trace

RULE = True
MASTERS = {"object": "__main__.Masters", "id": 70, "attrs": {}}


def train(folder, unread=True, given="__main__.Masters", steps_by="__main__.Masters"):
    t = Trace(folder, content="batches", operators=True)
    t.write({"type": "source", "at": "train.py", "digest": "00000000000000aa", "text": "pass\\n",
             "unread": {"__main__.load": {"optimizer": False}} if unread else {}})
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.call("__main__.load", role="own", at="train.py:5", args={"optimizer": MASTERS | {"object": given}})
    for _ in range(3):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.enter(f"{steps_by}.step", role="own", at="train.py:9", self=MASTERS | {"object": steps_by})
        t.step(optimizer)
        t.leave()
        t.cut()
    t.end()


def fine(folder):
    train(folder, unread=False)


def fine_no_optimizer(folder):
    train(folder, given="__main__.Settings")


def fine_of_another_class(folder):
    train(folder, steps_by="__main__.Mast")


def broken(folder):
    train(folder)
