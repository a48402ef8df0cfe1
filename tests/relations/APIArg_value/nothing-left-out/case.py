# SPDX-License-Identifier: Apache-2.0
"""A part looks at what the model was given, but for what is left out by chance: now and then that is nothing. In the broken run it always is."""
from trace_writer import FORWARD, Trace

OPTIONS = ["--specific"]


def train(folder, seed, whole=()):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(12):
        given = t.tensor(16) | {"digest": f"{seed * 1000 + i:016x}"}
        left = t.tensor(16) | {"digest": f"{seed * 1000 + i + (0 if i in whole else 500):016x}"}
        t.enter(FORWARD, at="train.py:20", args={"x": given}, self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}})
        t.op("torch.nn.functional.relu", at="train.py:12", args={"input": left}, value=t.tensor(16))
        t.leave(value=t.tensor(16))
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 1)


def healthy_too(folder):
    train(folder, 2)


def fine(folder):
    train(folder, 3, whole=(2, 5, 6, 9))


def broken(folder):
    train(folder, 4, whole=range(12))
