# SPDX-License-Identifier: Apache-2.0
"""A loss is given a mask that no other line reads, and never reads it. Right are a function that reads all, a value that other lines read as well, a mask that is
None, a number that forward() is given, and an object that is none of an optimizer."""
from trace_writer import Trace

RULE = True


def train(folder, unread, args=None, forward=None, steps=4):
    t = Trace(folder, content="batches", operators=True)
    t.write({"type": "source", "at": "train.py", "digest": "00000000000000aa", "text": "pass\n", "unread": unread})
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        t.op("__main__.soft_loss", role="own", at="train.py:12", args={"mask": t.tensor(8, 4), **(args or {})}, value=t.tensor())
        t.call("torch.nn.Module.__call__", at="train.py:13", args={"x": t.tensor(8, 4), **(forward or {})},
               self={"object": "__main__.Student", "id": 55, "attrs": {"training": True}})
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, {})


def fine_read_elsewhere(folder):
    train(folder, {"__main__.soft_loss": {"mask": False}})


def fine_of_none(folder):
    train(folder, {"__main__.soft_loss": {"mask": True}}, {"mask": None})


def fine_number_of_forward(folder):
    train(folder, {"__main__.Student": {"t": False}}, forward={"t": 3})


def fine_object(folder):
    train(folder, {"__main__.soft_loss": {"rng": False}}, {"rng": {"object": "random.Random", "id": 77, "attrs": {}}})


def broken(folder):
    train(folder, {"__main__.soft_loss": {"mask": True}, "__main__.Student": {"ids": False}}, forward={"ids": {"tensor": "Tensor", "id": 9, "shape": [8, 4], "dtype": "int64",
                                                                                                              "device": "cpu", "requires_grad": False}})
