# SPDX-License-Identifier: Apache-2.0
"""What a generator gives is no fact where it is a number, though two runs happened to get the same one; of an array the shape is."""
from trace_writer import Trace

OPTIONS = ["--specific"]
GENERATOR = {"object": "numpy.random.Generator", "attrs": {}}


def train(folder, shift=1, size=8):
    t = Trace(folder, operators=True)
    t.op("numpy.random.Generator.integers", role="draw", at="train.py:5", self=GENERATOR, args={"low": 4}, value=shift)
    t.op("random.Random.sample", role="draw", at="train.py:6", args={"k": 2}, value=[{"more": 2}])
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(6):
        order = {"array": "ndarray", "id": t.serial(), "shape": [size], "dtype": "int64", "device": "cpu", "requires_grad": False}
        t.op("numpy.random.Generator.permutation", role="draw", at="train.py:9", self=GENERATOR, args={"x": 8}, value=order)
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def healthy_too(folder):
    train(folder)


def fine(folder):
    train(folder, shift=3)


def broken(folder):
    train(folder, size=4)
